// The report of a run.
#pragma once

#include <string>

#include "run/state.h"

namespace emu {

/// One defect, and one launch, as they stand in the report.
std::string defect_text(const KeptDefect& kept);
std::string launch_text(const LaunchRecord& record);

/// The report since emu_start, as JSON.
std::string report_text();

}  // namespace emu
