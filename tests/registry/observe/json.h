// Reads JSON strictly, for tests: anything that RFC 8259 does not allow throws std::runtime_error.
#pragma once

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace muster::test {

struct Json {
  enum class Kind { null, boolean, number, text, array, object } kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Json> array;
  std::map<std::string, Json> object;

  bool has(const std::string& key) const { return object.contains(key); }
  const Json& operator[](const std::string& key) const {
    const auto at = object.find(key);
    if (at == object.end()) throw std::runtime_error("there is no \"" + key + "\"");
    return at->second;
  }
};

class JsonReader {
 public:
  static Json read(std::string_view text) {
    JsonReader reader(text);
    Json value = reader.value();
    reader.space();
    if (!reader.rest_.empty()) reader.fail("something follows the value");
    return value;
  }

 private:
  explicit JsonReader(std::string_view text) : rest_(text) {}
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " before: " + std::string(rest_.substr(0, 40)));
  }
  void space() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
  }
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  bool next(char c) {
    space();
    return take(std::string_view(&c, 1));
  }
  void need(char c) {
    if (!next(c)) fail(std::string("expected ") + c);
  }
  Json value() {
    space();
    Json v;
    if (take("null")) return v;
    if (rest_.starts_with("true") || rest_.starts_with("false")) {
      v.kind = Json::Kind::boolean;
      v.boolean = take("true") || !take("false");
    } else if (rest_.starts_with('"')) {
      v.kind = Json::Kind::text;
      v.text = string();
    } else if (next('[')) {
      v.kind = Json::Kind::array;
      if (next(']')) return v;
      do v.array.push_back(value());
      while (next(','));
      need(']');
    } else if (next('{')) {
      v.kind = Json::Kind::object;
      if (next('}')) return v;
      do {
        space();
        std::string key = string();
        need(':');
        if (!v.object.emplace(key, value()).second) fail("a key comes twice: " + key);
      } while (next(','));
      need('}');
    } else {
      v.kind = Json::Kind::number;
      v.number = number();
    }
    return v;
  }
  std::string string() {
    if (!take("\"")) fail("expected a string");
    std::string out;
    while (!take("\"")) {
      if (rest_.empty() || static_cast<unsigned char>(rest_.front()) < 0x20) fail("a string ends badly");
      if (take("\\u")) {
        const std::string digits(rest_.substr(0, 4));
        if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
          fail("bad \\u");
        out += static_cast<char>(std::strtol(digits.c_str(), nullptr, 16));
        rest_.remove_prefix(4);
        continue;
      }
      if (take("\\") && std::string_view("\"\\/bfnrt").find(rest_.front()) == std::string_view::npos)
        fail("bad escape");
      out += rest_.front();
      rest_.remove_prefix(1);
    }
    return out;
  }
  double number() {
    const auto digits = [&] {
      std::size_t count = 0;
      while (count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') ++count;
      if (count == 0) fail("expected digits");
      const std::string_view taken = rest_.substr(0, count);
      rest_.remove_prefix(count);
      return taken;
    };
    const char* const begin = rest_.data();
    take("-");
    if (const std::string_view whole = digits(); whole.size() > 1 && whole.front() == '0') fail("a leading zero");
    if (take(".")) digits();
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      digits();
    }
    return std::strtod(std::string(begin, rest_.data()).c_str(), nullptr);
  }

  std::string_view rest_;
};

}  // namespace muster::test
