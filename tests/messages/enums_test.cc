// Enums of every width as people write and read them, and as they are judged: negative values, the highest bit.
#include <catch2/catch.hpp>
#include <cstring>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/value_text.h"
#include "tests/schema/enums.h"

using namespace muster;
using namespace enums;

namespace {

class Nobody : public ValueReferences {
 public:
  ValueResult<Entity> find_entity(std::string_view) override { return Entity{}; }
  ValueResult<Text> intern(std::string_view) override { return Text{}; }
  std::string text(Text) override { return {}; }
};

struct Fixture {
  Fixture() { REQUIRE(types.add<Row>()); }
  const TypeDescriptor& row_type() { return *types.find(TypeTraits<Row>::id); }
  /// The value of one field of a Row after `text` was assigned to it, as it is shown.
  std::string shown(const char* field, const char* text) {
    const auto bytes = parse_struct(types, row_type(), {{field, text}}, nobody);
    if (!bytes) return bytes.error().text;
    if (const auto good = verify_value(*bytes, row_type(), types); !good) return good.error().text;
    for (const FieldLine& line : field_lines(types, row_type(), bytes->data(), nobody))
      if (line.path == field) return line.value;
    return "no field " + std::string(field);
  }
  /// What the verifier says of a Row.
  std::string judged(const Row& row) {
    const auto good = verify_value(std::as_bytes(std::span(&row, 1)), row_type(), types);
    return good ? std::string() : good.error().text;
  }
  /// And of a Note.
  std::string judged(Note note) {
    note.words = {"word"};
    BatchBuilder builder;
    builder.append_table(TypeTraits<Note>::id, Entity{}, encode(note));
    const auto good = verify_batch(builder.bytes(), types);
    return good ? std::string() : good.error().text;
  }
  TypeTable types;
  Nobody nobody;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an enum's value is written by name or number, whatever its width, and shown by name") {
  CHECK(shown("byte_least", "-128") == "least");
  CHECK(shown("short_minus", "-1") == "minus");
  CHECK(shown("int_least", "-2147483648") == "least");
  CHECK(shown("uint_most", "4294967295") == "most");
  CHECK(shown("long_least", "-9223372036854775808") == "least");
  CHECK(shown("long_most", "9223372036854775807") == "most");
  CHECK(shown("ulong_high", "18446744073709551615") == "most");
  CHECK(shown("ulong_high", "9223372036854775808") == "high");
  CHECK(shown("ulong_high", "0xffffffffffffffff") == "most");
  CHECK(shown("ulong_high", "zero") == "zero");
  CHECK(shown("flags8", "a|128") == "a|top");
  CHECK(shown("flags64", "b|9223372036854775808") == "b|top");
  CHECK(shown("flags64", "9223372036854775811") == "a|b|top");
  CHECK(shown("pair", "least, -4294967297") == "least, minus");
}

TEST_CASE_METHOD(Fixture,
                 "a number that an enum does not have is refused, also one of the same bits in another width") {
  const std::string it_takes = "expected one of zero, high, most";
  CHECK(shown("ulong_high", "-1") == "enums.Row.ulong_high cannot be '-1': " + it_takes);
  CHECK(shown("ulong_high", "18446744073709551614").ends_with(it_takes));
  CHECK(shown("byte_least", "128").ends_with("expected one of least, zero, most"));
  CHECK(shown("short_minus", "65535").ends_with("expected one of least, minus, zero, most"));
  CHECK(shown("flags64", "4611686018427387904").ends_with("expected any of a, b, top, joined by |"));
}

TEST_CASE_METHOD(Fixture, "what is no value of an enum is named as its width and sign have it") {
  CHECK(judged(Row{}) == "");
  CHECK(judged(Row{.byte_least = Byte{-127}}) == "enums.Row.byte_least is -127, which is not a value of enums.Byte");
  CHECK(judged(Row{.long_least = Long{-9223372036854775807}}) ==
        "enums.Row.long_least is -9223372036854775807, which is not a value of enums.Long");
  CHECK(judged(Row{.ulong_most = Ulong{~0ull - 1}}) ==
        "enums.Row.ulong_most is 18446744073709551614, which is not a value of enums.Ulong");
  CHECK(judged(Note{}) == "");
  CHECK(judged(Note{.ulong_most = Ulong{~0ull - 1}}) ==
        "enums.Note.ulong_most: is 18446744073709551614, which is not a value of enums.Ulong");
  CHECK(judged(Note{.long_minus = Long{-2}}) == "enums.Note.long_minus: is -2, which is not a value of enums.Long");
  CHECK(judged(Note{.flags64 = Flags64{1ull << 62}}) ==
        "enums.Note.flags64: is 4611686018427387904, which is not a value of enums.Flags64");
}

TEST_CASE_METHOD(Fixture, "a number without a name is shown with the sign of its enum") {
  Row row{.long_least = Long{-7}, .ulong_most = Ulong{~0ull - 1}, .flags64 = Flags64{(1ull << 62) | 1}};
  std::string text;
  for (const FieldLine& line : field_lines(types, row_type(), reinterpret_cast<const std::byte*>(&row), nobody))
    if (line.path == "long_least" || line.path == "ulong_most" || line.path == "flags64") text += line.value + " ";
  CHECK(text == "-7 18446744073709551614 a|4611686018427387904 ");
}
