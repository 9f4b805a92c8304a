// The report of a run.
#pragma once

#include <string>

namespace emu {

/// The report since emu_start, as JSON.
std::string report_text();

}  // namespace emu
