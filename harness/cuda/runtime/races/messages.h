// Order through atomics: a thread writes, fences and stores a flag; who sees the flag sees the writes.
//
// Every location that atomics (or volatile accesses) touch is a mailbox. An atomic after a fence posts what the fence
// covers; any atomic on it takes what was posted so far. Reading without a fence of one's own counts as enough.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "races/races.h"

namespace emu {

struct Mailbox;

/// Everything posted in a mailbox up to a count.
struct Taken {
    Mailbox* mailbox;
    size_t count;
};
using Knowledge = std::vector<Taken>;

/// What fences, by whichever threads of the block, have made visible.
struct Shown {
    struct Scoped {
        std::vector<uint32_t> own;  // per thread: its segments up to this one
        uint32_t interval = 0;      // all of the block before this one
    };
    Scoped to[2];  // the block, by fences of any scope; the device
};
using Visible = std::shared_ptr<const Shown>;

/// What a fence of a thread covers.
struct Coverage {
    uint32_t own = 0;       // its own segments up to this one; 0: no fence yet
    uint32_t interval = 0;  // all of the block before this one
    uint32_t met = 0;       // of its warp up to this one
    std::vector<uint32_t> lanes;  // instead, after a meeting of some: of each of them up to these
    Knowledge taken;        // from mailboxes
};

struct Post {
    uint32_t block;   // its first segment: posts come in order of blocks
    unsigned thread;
    bool device;      // for other blocks too
    Coverage coverage;
    Visible visible;
};

/// What a thread may pass on, and what it was passed.
struct Messages {
    Coverage fenced[2];           // by its last fence of any scope; by its last one of the device
    uint32_t fence_interval = 0;  // in which it fenced last
    bool unshared = false;        // a fence that no meeting has told of
    Knowledge taken;
    Visible visible;              // null: the block's
};

/// Forget all mail: a launch begins.
void messages_launch();
void messages_block(const Block& block);
void messages_barrier(const Block& block);
void messages_meeting(const Warp& warp, uint32_t present);
void messages_fence(Scope scope);
/// An atomic operation of the running thread: take, then post.
void messages_atomic(uintptr_t address, bool takes, bool posts);
/// Whether the running thread has fenced since the block's last barrier but one: its volatile writes are messages.
bool has_fenced();
/// Whether what was taken (by the running thread) covers the access.
bool is_covered(Mark mark);

}  // namespace emu
