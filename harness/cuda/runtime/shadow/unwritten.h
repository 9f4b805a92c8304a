// Words that a thread read although nobody had written them. Copying them is no fault: structs have padding, and
// buffers a part that is not used yet. Using them is one.
//
// The hooks see addresses, not values, so a thread is handed words that it would hardly make by itself: signalling NaNs,
// which arithmetic changes. A word that is stored again as it was is a copy, and where it is stored has no value then
// either. One that has not been stored by the time the thread ends was used, or at least not merely copied: a fault,
// unless nothing came of it (twins.h). Where some of the bytes of an access have a value, the others may be
// padding: they count once they decide something, or arithmetic with them is stored.
#pragma once

#include "shadow/shadow.h"
#include "threads.h"

namespace emu {

/// Whether any thread of the running block holds such a word.
extern bool holds_unwritten;

/// Every access of a running thread while `holds_unwritten`, before it is done.
void watch_unwritten(const Access& access);
/// The stores seen so far have been done.
void settle_unwritten();
/// A store that was told before the read of what it stores, as compilers do where a struct is copied.
void watch_store(uintptr_t address, size_t bytes, bool atomic = false);
/// A struct was read, in pieces.
void read_in_pieces(uintptr_t address, size_t bytes);
/// Pieces of one copy follow: none of them has been done before the last.
struct InPieces {
    InPieces();
    ~InPieces();
};

void unwritten_launch();
/// The block has ended; of one that was ended, the threads that had ended and the one that ran last have used what they
/// read.
void unwritten_block_end(const Block& block);
/// The block waits for the others of its grid, and goes on.
void unwritten_aside(const Block& block);
void unwritten_resume(const Block& block);
/// No block of the launch goes on: what is held by threads that have not ended is told, as less than an error.
void unwritten_cut_off();

/// While one lives, memory is copied as a whole from one place to the other, values or not.
class WholeCopy {
public:
    WholeCopy(const void* to, const void* from, size_t bytes);
    ~WholeCopy();
    WholeCopy(const WholeCopy&) = delete;
    WholeCopy& operator=(const WholeCopy&) = delete;

private:
    uintptr_t to_, from_;
    size_t bytes_;  // 0: nothing lacks a value, or where it goes is not watched
};

}  // namespace emu
