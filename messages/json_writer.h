// Writes JSON one value at a time, inserting the commas. Inside an object, the caller must
// alternate keys and values.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/utf8.h"

namespace muster {

/// Appends `text` as a quoted JSON string. Bytes that are not valid UTF-8 become U+FFFD, so the
/// result is always valid UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}
[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// Builds a string that is valid JSON and valid UTF-8 for any input.
class JsonWriter {
 public:
  const std::string& text() const noexcept { return out_; }

  JsonWriter& open_object() { return open('{'); }
  JsonWriter& close_object() { return close('}'); }
  JsonWriter& open_array() { return open('['); }
  JsonWriter& close_array() { return close(']'); }
  JsonWriter& key(std::string_view name) {
    value(name);
    out_ += ": ";
    first_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    comma();
    append_json_string(out_, text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw(yes ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  template <std::integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  /// Writes the shortest representation of the number that reads back as the same number. Numbers
  /// that JSON cannot represent become strings: "nan", "inf", "-inf".
  template <std::floating_point T>
  JsonWriter& value(T number) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
    return std::isfinite(number) ? raw(text) : value(text);
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& of) {
    return key(name).value(of);
  }

 private:
  JsonWriter& open(char bracket) {
    comma();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& raw(std::string_view text) {
    comma();
    out_ += text;
    return *this;
  }
  void comma() {
    if (!first_) out_ += ", ";
    first_ = false;
  }
  std::string out_;
  bool first_ = true;
};

}  // namespace muster
