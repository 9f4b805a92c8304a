#include "run/state.h"

#include "run/following.h"

namespace emu {

bool has_own_main = false;
Follower follower;

State& state() {
    static auto* instance = new State;  // outlives static destructors
    return *instance;
}

int fail(const char* call, int error, const std::string& text) {
    const Exclusive exclusive;
    State& s = state();
    s.last_error = error;
    if (!s.api_errors.empty()) {
        const ApiError& last = s.api_errors.back();
        if (last.call == call && last.error == error && last.text == text) return error;
    }
    list(s.api_errors, ApiError{call, error, text});
    return error;
}

void list_unsupported(const char* what, Site site) {
    const char* file = site.file ? site.file : "";
    for (const UnsupportedUse& use : state().unsupported) {
        if (use.what == what && use.file == file && use.line == site.line) return;
    }
    list(state().unsupported, UnsupportedUse{what, file, site.line});
}

}  // namespace emu
