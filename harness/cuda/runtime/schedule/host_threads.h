// Host threads beside each other: whatever touches the device waits for its turn, a launch from its beginning to its end.
// Which thread a kernel belongs to is told by `running_thread`, which each host thread has its own of.
#pragma once

namespace emu {

/// Set in a copy of the process, in which no other host thread goes on.
extern bool only_host_thread;

/// No other host thread is inside the device while one of these lives. A thread may have several.
class Exclusive {
public:
    Exclusive();
    ~Exclusive();
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
};

}  // namespace emu
