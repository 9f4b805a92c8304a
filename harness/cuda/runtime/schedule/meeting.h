// Where the lanes of a warp leave what they bring to a meeting.
#pragma once

#include <string>

#include "threads.h"

namespace emu {

/// One meeting: a lane holds it until its next one, so that it can read at leisure what the others brought.
struct Table {
    uint32_t mask;
    uint32_t present;  // lanes that have come
    unsigned number;   // among the warp's
    unsigned bytes;    // of each deposit
    const char* what;
    alignas(64) unsigned char deposits[kWarpLanes * 16];
};

/// Tables for all warps of a block.
Table* new_tables();
std::string hexadecimal(uint32_t mask);

}  // namespace emu
