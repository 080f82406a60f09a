#include "messages/utf8.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "messages/json_writer.h"

namespace utf8_test {

using namespace muster;

TEST_CASE("names that are UTF-8 already stay as they are") {
  CHECK(valid_utf8("") == "");
  CHECK(valid_utf8("Turm \xc3\xa4 \xe5\xa1\x94 \xf0\x9f\x8f\xb0") == "Turm \xc3\xa4 \xe5\xa1\x94 \xf0\x9f\x8f\xb0");
}

TEST_CASE("bytes that are no UTF-8 become replacement characters") {
  CHECK(valid_utf8("T\xfcr") == "T\xef\xbf\xbdr");                          // Latin-1
  CHECK(valid_utf8("\xc3") == "\xef\xbf\xbd");                              // cut off
  CHECK(valid_utf8("\xe5\xa1") == "\xef\xbf\xbd\xef\xbf\xbd");              // cut off later
  CHECK(valid_utf8("\xc0\x80") == "\xef\xbf\xbd\xef\xbf\xbd");              // overlong
  CHECK(valid_utf8("\xed\xa0\x80").find('\xed') == std::string::npos);      // a surrogate
  CHECK(valid_utf8("\xf4\x90\x80\x80").find('\xf4') == std::string::npos);  // beyond U+10FFFF
  CHECK(valid_utf8("a\nb\x7f") == "a b ");
}

TEST_CASE("the part of a text that is UTF-8 ends at the first byte that is no character") {
  const std::string good = "abcdefgh Turm \xc3\xa4 \xf0\x9f\x8f\xb0 abcdefgh";
  CHECK(utf8_prefix("") == 0);
  CHECK(utf8_prefix(good) == good.size());
  for (std::size_t at = 0; at <= 24; ++at) {
    std::string broken(24, 'a');
    broken.insert(at, "\xff");
    CHECK(utf8_prefix(broken) == at);
  }
  CHECK(utf8_prefix("abc\xe5\xa1") == 3);
  CHECK(utf8_prefix("abc\xf4\x8f\xbf\xbf") == 7);  // the last code point there is
  CHECK(utf8_prefix("abc\xf4\x90\x80\x80") == 3);
  CHECK(utf8_prefix("abc\xf5\x80\x80\x80") == 3);
  CHECK(utf8_prefix("abc\xed\x9f\xbf") == 6);
  CHECK(utf8_prefix("abc\xed\xa0\x80") == 3);
}

TEST_CASE("JSON is UTF-8 whatever the texts are") {
  CHECK(json_string("a \"b\" \\ \n\x01") == "\"a \\\"b\\\" \\\\ \\u000a\\u0001\"");
  CHECK(json_string("T\xfcr \xc3\xa4") == "\"T\xef\xbf\xbdr \xc3\xa4\"");
  CHECK(JsonWriter().open_object().member("\xff", std::string("\xc3")).close_object().text() ==
        "{\"\xef\xbf\xbd\": \"\xef\xbf\xbd\"}");
}

namespace {

/// How long the character at the beginning is, by what Unicode says of code points; 0: none is there.
std::size_t length_by_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >> 5 == 6 ? 2 : byte(0) >> 4 == 14 ? 3 : byte(0) >> 3 == 30 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t point = byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : length;
}

}  // namespace

TEST_CASE("a character is as long as its code point says, whatever bytes there are and wherever they end") {
  std::size_t wrong = 0;
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      for (const int third : {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff})
        for (const int fourth : {0x7f, 0x80, 0xbf, 0xc0}) {
          const char bytes[] = {static_cast<char>(first), static_cast<char>(second), static_cast<char>(third),
                                static_cast<char>(fourth)};
          for (std::size_t size = 1; size <= 4; ++size)
            wrong += utf8_length({bytes, size}) != length_by_code_point({bytes, size});
        }
  CHECK(wrong == 0);
}

TEST_CASE("in names control characters become blanks, at the ends of their range and nowhere else") {
  CHECK(valid_utf8(std::string("\0\x1f\x20\x7e\x7f", 5)) == "   ~ ");
  CHECK(valid_utf8("\xc2\x80") == "\xc2\x80");
}

TEST_CASE("what is not seen, and changes how the letters beside it are, is found and left out") {
  const std::string plain = "Turm \xc3\xa4 \xe5\xa1\x94 \xf0\x9f\x8f\xb0 \xe2\x80\x93 \xc2\xa0";
  CHECK_FALSE(has_invisible(plain));
  CHECK(without_invisible(plain) == plain);
  for (const std::string each : {"\n", "\x1b", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\xd8\x9c", "\xe2\x80\x8e",
                                 "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf"}) {
    CHECK(has_invisible("a" + each + "b"));
    CHECK(without_invisible("a" + each + "b") == "ab");
  }
}

TEST_CASE("what is not seen are the control characters and marks of direction and order, to the ends of their ranges") {
  const auto is_unseen = [](std::uint32_t code) {
    constexpr std::uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                                           {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    return std::ranges::any_of(ranges, [&](const auto& range) { return code >= range[0] && code <= range[1]; });
  };
  std::uint32_t wrong = 0;
  for (std::uint32_t code = 0; code < 0x11000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string letter;
    const auto tail = [&](int shift) { letter += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80)
      letter = static_cast<char>(code);
    else if (code < 0x800)
      letter = static_cast<char>(0xc0 | code >> 6);
    else if (code < 0x10000)
      letter = static_cast<char>(0xe0 | code >> 12);
    else
      letter = static_cast<char>(0xf0 | code >> 18);
    if (code >= 0x10000) tail(12);
    if (code >= 0x800) tail(6);
    if (code >= 0x80) tail(0);
    wrong += has_invisible("a" + letter + "b") != is_unseen(code);
  }
  CHECK(wrong == 0);
}

}  // namespace utf8_test
