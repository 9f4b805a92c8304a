#include "host_threads.h"

#include <mutex>

namespace emu {

namespace {

std::recursive_mutex& device() {
    static auto* instance = new std::recursive_mutex;  // outlives static destructors
    return *instance;
}

}  // namespace

Exclusive::Exclusive() { device().lock(); }
Exclusive::~Exclusive() { device().unlock(); }

}  // namespace emu
