#include "client/import/utf8.h"

#include <catch2/catch.hpp>

using muster::valid_utf8;

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
