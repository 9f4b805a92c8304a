// NVIDIA's samples come with these helpers beside them, not with CUDA: the command line as they read it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

namespace emu {

/// What follows `--name` or `-name`: empty without a `=value`, null when no argument is so called.
inline const char* option(int count, const char** words, const char* name) {
    const size_t length = std::strlen(name);
    for (int i = 1; i < count; ++i) {
        const char* word = words[i] + std::strspn(words[i], "-");
        if (word == words[i] || strncasecmp(word, name, length) != 0) continue;
        if (word[length] == '=') return word + length + 1;
        if (word[length] == '\0') return word + length;
    }
    return nullptr;
}

}  // namespace emu

inline bool checkCmdLineFlag(int count, const char** words, const char* name) {
    return emu::option(count, words, name) != nullptr;
}
inline int getCmdLineArgumentInt(int count, const char** words, const char* name) {
    const char* value = emu::option(count, words, name);
    return value ? std::atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int count, const char** words, const char* name) {
    const char* value = emu::option(count, words, name);
    return value ? static_cast<float>(std::atof(value)) : 0.0f;
}
inline bool getCmdLineArgumentString(int count, const char** words, const char* name, char** value) {
    *value = const_cast<char*>(emu::option(count, words, name));
    return *value != nullptr;
}
template <class T>
bool getCmdLineArgumentValue(int count, const char** words, const char* name, T* value) {
    const char* text = emu::option(count, words, name);
    if (text) *value = static_cast<T>(std::atoll(text));
    return text != nullptr;
}
