#include "registry/templates/template_json.h"

#include <algorithm>

#include "messages/utf8.h"

namespace muster {

const Json* Json::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find(members, name, &Member::name);
  return at == members.end() ? nullptr : &at->value;
}

std::string Json::shown() const {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::word:
    case Kind::number: return text;
    case Kind::string: return "the string '" + text + "'";
    case Kind::array: return "a list";
    case Kind::object: return "an object";
  }
  return {};
}

namespace {

constexpr int depth_max = 64;

bool is_name_start(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Each function returns false after the first error.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  std::expected<Json, JsonError> run() {
    if (is_utf16(rest_)) return std::unexpected(JsonError{1, "it is UTF-16, not UTF-8"});
    Json json;
    if (blank() && value(json, 0) && blank() && !rest_.empty()) fail("there is text after the end");
    if (failed_) return std::unexpected(error_);
    return json;
  }

 private:
  bool fail(std::string what) {
    if (!failed_) error_ = {line_, std::move(what)};
    failed_ = true;
    return false;
  }
  char next() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }
  void take() noexcept {
    if (next() == '\n') ++line_;
    rest_.remove_prefix(1);
  }
  std::string here() const {
    if (rest_.empty()) return "the end of the file";
    return "'" + std::string(rest_.substr(0, 1)) + "'";
  }
  bool blank() {
    while (!rest_.empty()) {
      if (const char c = next(); c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        take();
      } else if (rest_.starts_with("//")) {
        while (!rest_.empty() && next() != '\n') take();
      } else if (rest_.starts_with("/*")) {
        const std::uint32_t began = line_;
        while (!rest_.empty() && !rest_.starts_with("*/")) take();
        if (rest_.empty()) {
          line_ = began;
          return fail("unterminated comment");
        }
        rest_.remove_prefix(2);
      } else {
        break;
      }
    }
    return true;
  }

  bool value(Json& out, int depth) {
    if (depth > depth_max) return fail("nested deeper than " + std::to_string(depth_max));
    out.line = line_;
    const char c = next();
    if (c == '{') return object(out, depth);
    if (c == '[') return array(out, depth);
    if (c == '"' || c == '\'') {
      out.kind = Json::Kind::string;
      return string(out.text);
    }
    if (is_digit(c) || c == '-' || c == '+' || c == '.') {
      out.kind = Json::Kind::number;
      while (is_digit(next()) || is_name_start(next()) || next() == '-' || next() == '+' || next() == '.') {
        out.text += next();
        take();
      }
      return true;
    }
    if (!is_name_start(c)) return fail("expected a value, found " + here());
    out.kind = Json::Kind::word;
    name(out.text);
    if (out.text == "null") out.kind = Json::Kind::null;
    return true;
  }
  void name(std::string& out) {
    while (is_name_start(next()) || is_digit(next()) || next() == '.') {
      out += next();
      take();
    }
  }

  /// Reads the comma or closing bracket that follows an element.
  bool separated(char close, bool& done) {
    if (!blank()) return false;
    if (next() == ',') {
      take();
      if (!blank()) return false;
    } else if (next() != close) {
      return fail(std::string("expected ',' or '") + close + "', found " + here());
    }
    done = next() == close;
    if (done) take();
    return true;
  }
  bool array(Json& out, int depth) {
    out.kind = Json::Kind::array;
    take();
    if (!blank()) return false;
    bool done = next() == ']';
    if (done) take();
    while (!done)
      if (!value(out.items.emplace_back(), depth + 1) || !separated(']', done)) return false;
    return true;
  }
  bool object(Json& out, int depth) {
    out.kind = Json::Kind::object;
    take();
    if (!blank()) return false;
    bool done = next() == '}';
    if (done) take();
    while (!done) {
      Json::Member member;
      member.line = line_;
      if (next() == '"' || next() == '\'') {
        if (!string(member.name)) return false;
      } else if (is_name_start(next())) {
        name(member.name);
      } else {
        return fail("expected a name, found " + here());
      }
      if (out.find(member.name)) return fail("'" + member.name + "' appears twice");
      if (!blank()) return false;
      if (next() != ':') return fail("expected ':' after '" + member.name + "', found " + here());
      take();
      if (!blank() || !value(member.value, depth + 1)) return false;
      out.members.push_back(std::move(member));
      if (!separated('}', done)) return false;
    }
    return true;
  }

  bool string(std::string& out) {
    const char quote = next();
    const std::uint32_t began = line_;
    take();
    while (next() != quote || rest_.empty()) {
      if (rest_.empty() || next() == '\n') {
        line_ = began;
        return fail("unterminated string");
      }
      const auto c = static_cast<unsigned char>(next());
      if (c < 0x20 && c != '\t') return fail("control character in a string");
      take();
      if (c != '\\') {
        out += static_cast<char>(c);
      } else if (!escape(out)) {
        return false;
      }
    }
    take();
    return utf8_prefix(out) == out.size() || fail("string is not valid UTF-8");
  }
  bool escape(std::string& out) {
    const char c = next();
    if (!rest_.empty()) take();
    switch (c) {
      case 'n': out += '\n'; return true;
      case 't': out += '\t'; return true;
      case 'r': out += '\r'; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case '"':
      case '\'':
      case '\\':
      case '/': out += c; return true;
      case 'u': break;
      default: return fail(std::string("unknown escape '\\") + c + "'");
    }
    std::uint32_t code = 0;
    if (!hex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      std::uint32_t low = 0;
      if (!hex(low)) return false;
      if (low < 0xdc00 || low > 0xdfff) return fail("unpaired surrogate");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) return fail("unpaired surrogate");
    if (code == 0) return fail("zero byte in a string");
    if (code < 0x80) {
      out += static_cast<char>(code);
      return true;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(lead[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
    return true;
  }
  bool hex(std::uint32_t& code) {
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return fail("\\u needs four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit);
      take();
    }
    return true;
  }

  std::string_view rest_;
  std::uint32_t line_ = 1;
  bool failed_ = false;
  JsonError error_;
};

}  // namespace

std::expected<Json, JsonError> parse_json(std::string_view text) { return Reader(text).run(); }

}  // namespace muster
