#include "messages/utf8.h"

#include <catch2/catch.hpp>

#include "messages/json_writer.h"

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
