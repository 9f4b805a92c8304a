#include "schedule/host_threads.h"

#include <mutex>

namespace emu {

namespace {

std::recursive_mutex& device() {
    static auto* instance = new std::recursive_mutex;  // outlives static destructors
    return *instance;
}

}  // namespace

bool only_host_thread = false;

Exclusive::Exclusive() {
    if (!only_host_thread) device().lock();
}
Exclusive::~Exclusive() {
    if (!only_host_thread) device().unlock();
}

}  // namespace emu
