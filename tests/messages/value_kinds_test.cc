// Values of every kind, written and read: the ends of each number, names that are near, quotes, tables.
#include <catch2/catch.hpp>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/value_text.h"
#include "tests/messages/kinds.h"
#include "tests/messages/known_references.h"
#include "tests/messages/test_types.h"

namespace value_kinds_test {

using namespace muster;
using namespace kinds;

namespace {

struct Fixture {
  Fixture() { REQUIRE(types.add<Numbers>()); }
  const TypeDescriptor& type(std::string_view name) { return *types.find(name); }
  /// What is shown of a field after a text was read into it; or why that could not be.
  std::string shown(const std::string& field, const std::string& text) {
    const TypeDescriptor& of = type("kinds.Numbers");
    const auto value = parse_struct(types, of, {{field, text}}, known);
    if (!value) return value.error().text;
    for (const FieldLine& line : field_lines(types, of, value->data(), known))
      if (line.path == field) return line.value;
    return "no line";
  }
  std::string takes(const std::string& field, const std::string& text, const std::string& what) {
    return "kinds.Numbers." + field + " cannot be '" + text + "': expected " + what;
  }
  std::string text_of(const Numbers& numbers, std::string_view field) {
    for (const FieldLine& line :
         field_lines(types, type("kinds.Numbers"), reinterpret_cast<const std::byte*>(&numbers), known))
      if (line.path == field) return line.value;
    return "no line";
  }
  /// The table that these assignments make, as JSON; or why there is none.
  std::string table(const char* name, const FieldTexts& fields) {
    const TypeDescriptor& of = type(name);
    const auto bytes = parse_table(types, of, fields, known);
    if (!bytes) return bytes.error().text;
    BatchBuilder builder;
    builder.append_table(of.id, Entity{7, 1}, *bytes);
    const auto batch = verify_batch(builder.bytes(), types, {.values = true});
    if (!batch) return batch.error().text;
    JsonWriter out;
    write_json(out, types, of, TableReader::root(table_item(*batch, batch->body()).table), known);
    return out.text();
  }
  TypeTable types;
  test::Known known;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a number of each kind takes both of its ends, and nothing beyond them") {
  struct Ends {
    const char *field, *low, *high, *below, *above, *what;
  };
  for (const Ends& ends : {
           Ends{"i8", "-128", "127", "-129", "128", "a whole number from -128 to 127"},
           Ends{"u8", "0", "255", "-1", "256", "a whole number from 0 to 255"},
           Ends{"i16", "-32768", "32767", "-32769", "32768", "a whole number from -32768 to 32767"},
           Ends{"u16", "0", "65535", "-1", "65536", "a whole number from 0 to 65535"},
           Ends{"i32", "-2147483648", "2147483647", "-2147483649", "2147483648",
                "a whole number from -2147483648 to 2147483647"},
           Ends{"u32", "0", "4294967295", "-1", "4294967296", "a whole number from 0 to 4294967295"},
           Ends{"i64", "-9223372036854775808", "9223372036854775807", "-9223372036854775809", "9223372036854775808",
                "a whole number"},
           Ends{"u64", "0", "18446744073709551615", "-1", "18446744073709551616", "a non-negative whole number"},
           Ends{"f32", "-3.4028235e+38", "3.4028235e+38", "-3.5e38", "3.5e38", "a number"},
           Ends{"f64", "-1.7976931348623157e+308", "1.7976931348623157e+308", "-1.8e308", "1.8e308", "a number"},
       }) {
    CAPTURE(ends.field);
    CHECK(shown(ends.field, ends.low) == ends.low);
    CHECK(shown(ends.field, ends.high) == ends.high);
    const std::string field = ends.field;
    const auto beyond = [&](const char* number) {
      const std::string begin = "kinds.Numbers." + field + " cannot be '" + number + "': it does not fit in a ";
      return field == "f32"   ? begin + "32-bit float"
             : field == "f64" ? begin + "64-bit float"
                              : takes(ends.field, number, ends.what);
    };
    CHECK(shown(ends.field, ends.below) == beyond(ends.below));
    CHECK(shown(ends.field, ends.above) == beyond(ends.above));
    CHECK(shown(ends.field, "") == takes(ends.field, "", ends.what));
    CHECK(shown(ends.field, "7 8") == takes(ends.field, "7 8", ends.what));
    CHECK(shown(ends.field, " \t+7 ") == "7");
  }
  CHECK(shown("u16", "0xffff") == "65535");
  CHECK(shown("u16", "0x10000") == takes("u16", "0x10000", "a whole number from 0 to 65535"));
  CHECK(shown("u16", "0x") == takes("u16", "0x", "a whole number from 0 to 65535"));
  CHECK(shown("f32", "0.1") == "0.1");
  CHECK(shown("f64", "0.1") == "0.1");
  CHECK(shown("f32", "0x10") == takes("f32", "0x10", "a number"));
  for (const char* text : {"true", "1"}) CHECK(shown("yes", text) == "true");
  for (const char* text : {"false", "0"}) CHECK(shown("yes", text) == "false");
  for (const char* text : {"2", "True", ""}) CHECK(shown("yes", text) == takes("yes", text, "true or false"));
}

TEST_CASE_METHOD(Fixture, "an enum is written by name or number, to the ends of its numbers") {
  CHECK(shown("small", "low") == "low");
  CHECK(shown("small", "-128") == "low");
  CHECK(shown("small", "127") == "high");
  CHECK(shown("small", "1") == takes("small", "1", "one of low, none, high"));
  CHECK(shown("small", "300") == takes("small", "300", "one of low, none, high"));
  CHECK(shown("huge", "most") == "most");
  CHECK(shown("huge", "18446744073709551615") == "most");
  CHECK(shown("huge", "-1") == takes("huge", "-1", "one of zero, most"));
  CHECK(shown("bits", "first | last") == "first|last");
  CHECK(shown("bits", "9223372036854775809") == "first|last");
  CHECK(shown("bits", "last|2") == "second|last");
  CHECK(shown("bits", "0") == "0");
  CHECK(shown("bits", "4") == takes("bits", "4", "any of first, second, last, joined by |"));
  CHECK(shown("bits", "first|") == takes("bits", "first|", "any of first, second, last, joined by |"));
}

TEST_CASE_METHOD(Fixture,
                 "an enum's value that no name stands for is shown as a number, and flags beside those with names") {
  Numbers numbers{};
  numbers.small = static_cast<Small>(-5);
  CHECK(text_of(numbers, "small") == "-5");
  numbers.huge = static_cast<Huge>(18446744073709551614u);
  CHECK(text_of(numbers, "huge") == "18446744073709551614");
  numbers.bits = static_cast<Bits>((std::uint64_t{1} << 63) | 5);
  CHECK(text_of(numbers, "bits") == "first|last|4");
  numbers.bits = static_cast<Bits>(std::uint64_t{1} << 62);
  CHECK(text_of(numbers, "bits") == "4611686018427387904");
  numbers.bits = Bits{};
  CHECK(text_of(numbers, "bits") == "0");
}

TEST_CASE_METHOD(Fixture, "entities and texts may be none, and what is wrong with one is told with its field") {
  CHECK(shown("who", "orc") == "7:1");
  CHECK(shown("who", "nil") == "nil");
  CHECK(shown("who", "elf") == "kinds.Numbers.who: no entity elf");
  CHECK(shown("said", "a, b") == "\"a, b\"");
  CHECK(shown("said", " \"a \\\"b\\\"\" ") == R"("a \"b\"")");
  CHECK(shown("said", "") == "\"\"");
  CHECK(shown("said", "\"\"") == "\"\"");
  CHECK(shown("said", "\"") == R"("\"")");
  CHECK(shown("said", "\"end\\\"") == R"("end\\")");
  CHECK(shown("said", "secret") == "kinds.Numbers.said: not that one");
  CHECK(shown("said", std::string("a\0", 2)) == "kinds.Numbers.said has a zero byte at byte 1");
  CHECK(shown("said", "ab\xff") == "kinds.Numbers.said is not valid UTF-8 at byte 2");
  const auto read = parse_struct(types, type("kinds.Numbers"), {{"said", "\"\""}}, known);
  REQUIRE(read);
  CHECK(std::memcmp(read->data() + offsetof(Numbers, said), "\0\0\0\0\0\0\0\0", 8) == 0);
}

TEST_CASE_METHOD(Fixture, "an array is written whole or by element, and the element that does not fit is named") {
  CHECK(shown("list", "1,2,3") == "1, 2, 3");
  CHECK(shown("list", "1,2") ==
        "kinds.Numbers.list takes 3 values separated by commas (list[0], list[1], list[2]), not 2");
  CHECK(shown("list", "1,2,3,") ==
        "kinds.Numbers.list takes 3 values separated by commas (list[0], list[1], list[2]), not 4");
  CHECK(shown("list", "1,x,3") ==
        "kinds.Numbers.list (list[1]) cannot be 'x': expected a whole number from 0 to 65535");
  const auto one = parse_struct(types, type("kinds.Numbers"), {{"list", "1,2,3"}, {"list[1]", "9"}}, known);
  REQUIRE(one);
  CHECK(value_line(types, type("kinds.Numbers"), one->data(), known).ends_with("list=1, 9, 3"));
}

TEST_CASE_METHOD(Fixture, "a value begins as its type's default, or as the value that is given") {
  const TypeDescriptor& speed = type("kinds.Speed");
  const auto fresh = parse_struct(types, speed, {{"pair.a", "4"}}, known);
  REQUIRE(fresh);
  CHECK(value_line(types, speed, fresh->data(), known) == "value=2.5 limit=9 pair=4, 0");
  const auto changed = parse_struct(types, speed, {{"limit", "1"}}, known, *fresh);
  REQUIRE(changed);
  CHECK(value_line(types, speed, changed->data(), known) == "value=2.5 limit=1 pair=4, 0");
  const auto lines = field_lines(types, speed, changed->data(), known);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].unit == "m/s");
  CHECK(lines[1].unit == "s");
  CHECK(lines[2].unit == "m");
  const TypeDescriptor& mark = type("kinds.Mark");
  CHECK(parse_struct(types, mark, {{"reserved", "1"}}, known).error().text == "kinds.Mark is a tag: it has no fields");
  const auto tag = parse_struct(types, mark, {}, known);
  REQUIRE(tag);
  CHECK(tag->size() == 1);
  CHECK(field_lines(types, mark, tag->data(), known).empty());
  JsonWriter out;
  write_json(out, types, mark, tag->data(), known);
  CHECK(out.text() == "{}");
}

TEST_CASE_METHOD(Fixture, "what a field takes is said with its range, its parts and its unit") {
  const auto takes = [&](std::string_view of, std::size_t field) {
    return expected_text(types, type(of).fields.at(field));
  };
  CHECK(takes("kinds.Speed", 0) == "a number (m/s)");
  CHECK(takes("kinds.Speed", 1) == "a whole number from 1 to 9 (s)");
  CHECK(takes("kinds.Speed", 2) == "a, b (m)");
  const std::pair<const char*, const char*> all[] = {
      {"said", "a string"},  {"who", "an entity: a path, a name, an id or nil"},
      {"word", "a string"},  {"flags", "true or false"},
      {"words", "a string"}, {"shorts", "a whole number from -32768 to 32767"},
      {"pairs", "a, b"},     {"bits", "any of first, second, last, joined by |"},
      {"inner", "a value"}};
  for (const auto& [name, what] : all) {
    CAPTURE(name);
    const auto& fields = type("kinds.All").fields;
    CHECK(expected_text(types, *std::ranges::find(fields, std::string(name), &FieldDescriptor::name)) == what);
  }
}

TEST_CASE_METHOD(Fixture, "an assignment ends its field at the first equals sign") {
  CHECK(parse_assignment(" amount\t= 5=6 ").value() == std::pair(std::string("amount"), std::string(" 5=6 ")));
  CHECK(parse_assignment("amount=").value().second.empty());
  CHECK(parse_assignment("=5").error().text == "'=5' is not of the form field=value");
  CHECK(parse_assignment("amount").error().text == "'amount' is not of the form field=value");
}

TEST_CASE_METHOD(Fixture, "a table has fields of every kind, and vectors of numbers, flags, entities and texts") {
  CHECK(table("kinds.All", {}) == "{}");
  CHECK(table("kinds.All", {{"yes", "true"},
                            {"i8", "-128"},
                            {"u16", "65535"},
                            {"i64", "-9223372036854775808"},
                            {"u64", "18446744073709551615"},
                            {"f32", "0.1"},
                            {"small", "high"},
                            {"huge", "most"},
                            {"who", "orc"},
                            {"said", "yes"},
                            {"pair", " 3, 4.5 "},
                            {"word", "a, b"},
                            {"flags", "true,0,1"},
                            {"shorts", "-32768, 32767"},
                            {"bits", "first|last, 0, second"},
                            {"doubles", "0.1"},
                            {"whos", "nil, orc"},
                            {"words", R"("x\",y", z, "", "q\\")"}}) ==
        R"({"yes": true, "i8": -128, "u16": 65535, "i64": -9223372036854775808, "u64": 18446744073709551615, )"
        R"("f32": 0.1, "small": "high", "huge": "most", "who": "7:1", "said": "yes", "pair": {"a": 3, "b": 4.5}, )"
        R"("word": "a, b", "flags": [true, false, true], "shorts": [-32768, 32767], )"
        R"("bits": ["first|last", "0", "second"], "doubles": [0.1], "whos": [null, "7:1"], )"
        R"("words": ["x\",y", "z", "", "q\\"]})");
  CHECK(table("kinds.All", {{"shorts", " "}, {"words", ""}}) == R"({"shorts": [], "words": []})");
}

TEST_CASE_METHOD(Fixture, "tables in tables, structs in vectors and what is absent are JSON too") {
  All all;
  all.inner = Inside{.word = "in", .at = Pair{.a = 1, .b = 2}};
  all.pairs = {Pair{.a = 3, .b = 4}, Pair{.a = 5, .b = 6}};
  all.inners.resize(2);
  all.inners[1].word = "last";
  const auto bytes = encode(all);
  JsonWriter out;
  write_json(out, types, type("kinds.All"), TableReader::root(bytes), known);
  CHECK(out.text() == R"({"inner": {"word": "in", "at": {"a": 1, "b": 2}}, "pairs": [{"a": 3, "b": 4}, )"
                      R"({"a": 5, "b": 6}], "inners": [{}, {"word": "last"}]})");
}

TEST_CASE_METHOD(Fixture, "what a table cannot be given is told with its field or element") {
  CHECK(table("kinds.All", {{"flags", "true,2"}}) == "kinds.All.flags cannot be '2': expected true or false");
  CHECK(table("kinds.All", {{"whos", "orc,elf"}}) == "kinds.All.whos: no entity elf");
  CHECK(table("kinds.All", {{"words", "a,b\xff"}}) == "kinds.All.words[1] is not valid UTF-8 at byte 1");
  CHECK(table("kinds.All", {{"word", "b\xff"}}) == "kinds.All.word is not valid UTF-8 at byte 1");
  CHECK(table("kinds.All", {{"pairs", "1,2"}}) ==
        "kinds.All.pairs is a list of structs or tables, which cannot be written as text");
  CHECK(table("kinds.All", {{"inners", "a"}}) ==
        "kinds.All.inners is a list of structs or tables, which cannot be written as text");
  CHECK(table("kinds.All", {{"pair", "1"}}) == "kinds.All.pair takes 2 values separated by commas (a, b), not 1");
  CHECK(table("kinds.All", {{"pair", "1,x"}}) == "kinds.All.pair (b) cannot be 'x': expected a number");
  CHECK(table("kinds.Must", {{"count", "1"}, {"at", "1,2"}}) == "kinds.Must needs name=: a string");
  CHECK(table("kinds.Must", {{"name", "n"}}) == "kinds.Must needs at=: a, b");
  CHECK(table("kinds.Must", {{"name", "n"}, {"at", "1,2"}}) == R"({"name": "n", "at": {"a": 1, "b": 2}})");
  CHECK(table("kinds.Must", {{"nam", "n"}}) == "kinds.Must has no field 'nam'; it has count, name, at");
  CHECK(table("kinds.Must", {{"count", "1"}, {"count", "2"}}) == "kinds.Must.count is given twice");
}

TEST_CASE_METHOD(Fixture, "an error lists twelve names, those of Muster last, and counts the others") {
  const auto none = [&] { return find_component(types, "Xylophonist").error().text; };
  const std::string head = "no component \"Xylophonist\" in this world; it has ";
  CHECK(none() == head +
                      "kinds.Five, kinds.Four, kinds.Health, kinds.Mark, kinds.One, kinds.Seven, kinds.Six, "
                      "kinds.Speed, kinds.Three, kinds.Two, muster.ChildOf, muster.Name");
  REQUIRE(types.add<test::Damage>());
  CHECK(none() == head +
                      "kinds.Five, kinds.Four, kinds.Health, kinds.Mark, kinds.One, kinds.Seven, kinds.Six, "
                      "kinds.Speed, kinds.Three, kinds.Two, test.Health, test.Lamp and 5 more");
  CHECK(find_component(types, "Health").error().text ==
        "component \"Health\" is ambiguous: it could be kinds.Health or test.Health");
  CHECK(find_component(types, "kinds.Health").value()->name == "kinds.Health");
  CHECK(find_component(types, "Name").value()->name == "muster.Name");
  CHECK(find_message(types, "Numbers").value()->name == "kinds.Numbers");
  CHECK(find_message(types, "All").value()->name == "kinds.All");
  CHECK(find_message(types, "kinds.Speed").error().text == "no message \"kinds.Speed\": that type is not a message");
  CHECK(find_message(types, "kinds.Pair").error().text == "no message \"kinds.Pair\": that type is not a message");
}

TEST_CASE(
    "the nearest name is one of as many mistakes as a third of its letters and one more, and the first of equals") {
  const auto nearest = [](std::string_view name, std::vector<std::string_view> known) {
    return nearest_name(name, known);
  };
  CHECK(nearest("abc", {"axy"}) == "axy");
  CHECK(nearest("abc", {"xyz"}).empty());
  CHECK(nearest("ab", {"xb"}) == "xb");
  CHECK(nearest("ab", {"xy"}).empty());
  CHECK(nearest("abcdef", {"abcxyz"}) == "abcxyz");
  CHECK(nearest("abcdef", {"abwxyz"}).empty());
  CHECK(nearest("abc", {"abx", "abc"}) == "abc");
  CHECK(nearest("abc", {"abx", "aby"}) == "abx");
  CHECK(nearest("abc", {"bc"}) == "bc");
  CHECK(nearest("abc", {"abcd"}) == "abcd");
  CHECK(nearest("game.HEALTH", {"other.Health"}) == "other.Health");
  CHECK(nearest("", {"a"}) == "a");
  CHECK(nearest("", {"ab"}).empty());
  CHECK(nearest("abc", {}).empty());
}

TEST_CASE_METHOD(Fixture, "what names no field says what would") {
  const auto error = [&](std::string_view name) { return find_field(types, name).error().text; };
  CHECK(error("Mark.reserved") == "kinds.Mark is a tag: it has no fields");
  CHECK(error("Speed") == "kinds.Speed is a component; name one of its fields, as in Speed.value");
  CHECK(error(".value") == "'.value' does not name a field; write Component.field, as in Health.value");
  CHECK(error("kinds.Sped.pair.a") == "no component \"kinds.Sped\"; did you mean kinds.Speed?");
  CHECK(error("Sped.pair.a") == "no component \"Sped\"; did you mean kinds.Speed?");
  CHECK(error("sped.pair") == "no component \"sped\"; did you mean kinds.Speed?");
  CHECK(error("Speed.pair.c") == "kinds.Pair has no field 'c'; it has a, b");
  const auto field = find_field(types, "kinds.Speed.pair.b");
  REQUIRE(field);
  CHECK(field->path == "pair.b");
  CHECK(field->place.offset == 12);
  CHECK(field->place.size == 4);
}

TEST_CASE("an id is two numbers of 32 bits") {
  Entity e;
  CHECK(parse_id("4294967295:4294967295", e));
  CHECK(e == Entity{4294967295u, 4294967295u});
  CHECK(parse_id("0:0", e));
  CHECK(id_text(e) == "nil");
  CHECK(id_text(Entity{0, 1}) == "0:1");
  CHECK(id_text(Entity{1, 0}) == "1:0");
  for (const char* text : {"4294967296:1", "1:4294967296", "", ":", "1", "1:+1", " 1:1"}) {
    INFO(text);
    CHECK_FALSE(parse_id(text, e));
  }
}

TEST_CASE("control characters are shown as numbers, and nothing else is changed") {
  CHECK(printable(std::string("\0", 1)) == "\\x00");
  CHECK(printable("\x1f \x7e\x7f") == "\\x1f ~\\x7f");
  CHECK(printable("\xc3\xa4\xff\\") == "\xc3\xa4\xff\\");
}

TEST_CASE("JSON has commas between values and nowhere else, and numbers as short as they read back") {
  JsonWriter out;
  out.open_array().open_object().close_object().open_object().member("a", 1).key("b").open_array().close_array();
  out.key("c").null().close_object().open_array().value(true).value(false).open_array().value("x").close_array();
  out.close_array().value(std::int64_t{INT64_MIN}).value(std::uint64_t{UINT64_MAX}).value(0.1f).value(0.1).value(-0.0);
  out.value(1e300).close_array();
  CHECK(out.text() == R"([{}, {"a": 1, "b": [], "c": null}, [true, false, ["x"]], -9223372036854775808, )"
                      R"(18446744073709551615, 0.1, 0.1, -0, 1e+300])");
  CHECK(json_string("\x1f \x7f/") == "\"\\u001f \x7f/\"");
}

}  // namespace value_kinds_test
