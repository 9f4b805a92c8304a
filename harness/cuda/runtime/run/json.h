// The little of JSON that reports need.
#pragma once

#include <cstdint>
#include <string>

namespace emu {

/// Writes one value after another; commas are its business.
class Json {
public:
    Json& open(char bracket) { return comma(), text_ += bracket, fresh_ = true, *this; }
    Json& close(char bracket) { return text_ += bracket, fresh_ = false, *this; }
    Json& key(const char* name) { return string(name), text_ += ':', fresh_ = true, *this; }
    Json& number(uint64_t value) { return comma(), text_ += std::to_string(value), *this; }
    Json& signed_number(int64_t value) { return comma(), text_ += std::to_string(value), *this; }
    Json& boolean(bool value) { return comma(), text_ += value ? "true" : "false", *this; }
    Json& null() { return comma(), text_ += "null", *this; }
    Json& string(const std::string& value) {
        comma();
        text_ += '"';
        for (unsigned char c : value) append(c);
        text_ += '"';
        return *this;
    }
    const std::string& text() const { return text_; }

private:
    void comma() {
        if (!fresh_) text_ += ',';
        fresh_ = false;
    }
    // bytes beyond ASCII are kept: source is taken to be UTF-8
    void append(unsigned char c) {
        static const char digits[] = "0123456789abcdef";
        if (c == '"' || c == '\\') (text_ += '\\') += static_cast<char>(c);
        else if (c < 0x20) ((text_ += "\\u00") += digits[c >> 4]) += digits[c & 15];
        else text_ += static_cast<char>(c);
    }
    std::string text_;
    bool fresh_ = true;
};

}  // namespace emu
