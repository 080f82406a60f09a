// Values of types known from a schema only, to and from what people write.
#include "messages/value_text.h"

#include <catch2/catch.hpp>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "tests/messages/known_references.h"
#include "tests/messages/test_types.h"

namespace value_text_test {

using namespace muster;

namespace {

struct Fixture {
  Fixture() { REQUIRE(types.add<test::Damage>()); }
  const TypeDescriptor& type(std::string_view name) { return *types.find(name); }
  std::vector<std::byte> parse(std::string_view name, const FieldTexts& fields) {
    auto value = parse_struct(types, type(name), fields, known);
    if (!value) FAIL(value.error().text);
    REQUIRE(verify_value(*value, type(name), types));
    return *value;
  }
  std::string error(std::string_view name, const FieldTexts& fields) {
    const TypeDescriptor& of = type(name);
    auto value = of.is_table ? parse_table(types, of, fields, known) : parse_struct(types, of, fields, known);
    REQUIRE_FALSE(value);
    return value.error().text;
  }
  template <class T>
  T as(const std::vector<std::byte>& bytes) {
    T value;
    REQUIRE(bytes.size() == sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string json(std::string_view name, const std::vector<std::byte>& value) {
    JsonWriter out;
    write_json(out, types, type(name), value.data(), known);
    return out.text();
  }
  TypeTable types;
  test::Known known;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a struct is its defaults, changed by assignments") {
  const auto damage = as<test::Damage>(parse("test.Damage", {{"kind", "0x10"}, {"from", "orc"}}));
  CHECK(damage.amount == 1);
  CHECK(damage.kind == 16);
  CHECK(damage.from == Entity{7, 1});
}

TEST_CASE_METHOD(Fixture, "nested structs and arrays are written whole or place by place") {
  const auto bytes = parse("test.Painted", {{"on", "true"},
                                            {"color", "blue"},
                                            {"wings", "left|tail"},
                                            {"steps", "back, 1"},
                                            {"slots[1].at", "1, 2.5, -3"},
                                            {"slots[0].count", "9"},
                                            {"name", "a, \"b\""}});
  const auto painted = as<test::Painted>(bytes);
  CHECK(painted.on);
  CHECK(painted.color == test::Color::blue);
  CHECK(painted.steps[0] == test::Step::back);
  CHECK(painted.steps[1] == test::Step::forth);
  CHECK(painted.slots[1].at.y == 2.5f);
  CHECK(painted.slots[0].count == 9);
  CHECK(known.text(painted.name) == "a, \"b\"");
  CHECK(json("test.Painted", bytes) ==
        R"({"on": true, "color": "blue", "wings": "left|tail", "steps": ["back", "forth"], "slots": [)"
        R"({"count": 9, "full": false, "at": {"x": 0, "y": 0, "z": 0}}, )"
        R"({"count": 0, "full": false, "at": {"x": 1, "y": 2.5, "z": -3}}], "weight": 0, "name": "a, \"b\""})");
}

TEST_CASE_METHOD(Fixture, "what is shown of a value can be read again") {
  const auto bytes =
      parse("test.Painted", {{"color", "green"}, {"wings", "right"}, {"name", "x \"y\" \\z"}, {"weight", "0.1"}});
  FieldTexts shown;
  for (FieldLine& line : field_lines(types, type("test.Painted"), bytes.data(), known))
    shown.emplace_back(line.path, line.value);
  CHECK(shown.size() == 12);
  CHECK(parse("test.Painted", shown) == bytes);
}

TEST_CASE("a struct of up to four numbers is one line, a larger one and each struct of an array a line per field") {
  TypeTable types;
  test::Known known;
  const auto lines = [&](const std::string& name) {
    std::vector<std::string> paths;
    const TypeDescriptor& type = *types.find(name);
    for (const FieldLine& line : field_lines(types, type, type.default_bytes.data(), known))
      paths.push_back(line.path + "=" + line.value);
    return paths;
  };
  REQUIRE(types.add<test::Shown>());
  CHECK(lines("test.Shown") == std::vector<std::string>{"three=0, 0, 0", "four=0, 0, 0, 0", "five.x=0",
                                                        "five.rest=0, 0, 0, 0", "pair[0].x=0", "pair[0].y=0",
                                                        "pair[0].z=0", "pair[1].x=0", "pair[1].y=0", "pair[1].z=0"});
}

TEST_CASE_METHOD(Fixture, "errors name the place, what was written, and what would fit") {
  CHECK(error("test.Health", {{"value", "full"}}) ==
        "test.Health.value cannot be 'full': expected a number from 0 to 100");
  CHECK(error("test.Health", {{"value", "101"}}) ==
        "test.Health.value cannot be '101': expected a number from 0 to 100");
  CHECK(error("test.Health", {{"value", "nan"}}) ==
        "test.Health.value cannot be 'nan': expected a number from 0 to 100");
  CHECK(error("test.Health", {{"vale", "1"}}) == "test.Health has no field 'vale'; it has value");
  CHECK(error("test.Painted", {{"color", "pink"}}) ==
        "test.Painted.color cannot be 'pink': expected one of red, green, blue");
  CHECK(error("test.Painted", {{"color", "red|green"}}) ==
        "test.Painted.color cannot be 'red|green': expected one of red, green, blue");
  CHECK(error("test.Painted", {{"wings", "nose"}}) ==
        "test.Painted.wings cannot be 'nose': expected any of left, right, tail, joined by |");
  CHECK(error("test.Painted", {{"on", "yes"}}) == "test.Painted.on cannot be 'yes': expected true or false");
  CHECK(error("test.Painted", {{"slots[0].count", "256"}}) ==
        "test.Painted.slots[0].count cannot be '256': expected a whole number from 0 to 255");
  CHECK(error("test.Painted", {{"slots[0].at", "1,2"}}) ==
        "test.Painted.slots[0].at takes 3 values separated by commas (slots[0].at.x, slots[0].at.y, slots[0].at.z), "
        "not 2");
  CHECK(error("test.Damage", {{"from", "elf"}}) == "test.Damage.from: no entity elf");
  CHECK(error("test.Damage", {{"amount", "\x1b[2J"}}) == "test.Damage.amount cannot be '\\x1b[2J': expected a number");
}

TEST_CASE_METHOD(Fixture, "a table message written by hand passes the verifier and reads back") {
  const TypeDescriptor& say = type("test.Say");
  const auto table = parse_table(types, say,
                                 {{"text", "hello, all"},
                                  {"loud", "true"},
                                  {"color", "blue"},
                                  {"numbers", "1, 2.5"},
                                  {"names", "a, \"b, c\""},
                                  {"lamp", "true, green"},
                                  {"to", "orc"}},
                                 known);
  if (!table) FAIL(table.error().text);
  BatchBuilder builder;
  builder.append_table(say.id, Entity{7, 1}, *table);
  const auto batch = verify_batch(builder.bytes(), types);
  if (!batch) FAIL(batch.error().text);
  const auto said = test::SayView::from(table_item(*batch, batch->body()).table).decode();
  CHECK(said.text == "hello, all");
  CHECK(said.numbers == std::vector<double>{1, 2.5});
  CHECK(said.names == std::vector<std::string>{"a", "b, c"});
  CHECK(said.to == Entity{7, 1});
  JsonWriter out;
  write_json(out, types, say, TableReader::root(table_item(*batch, batch->body()).table), known);
  CHECK(out.text() == R"({"text": "hello, all", "loud": true, "color": "blue", "numbers": [1, 2.5], )"
                      R"("names": ["a", "b, c"], "lamp": {"lit": true, "color": "green"}, "to": "7:1"})");
}

TEST_CASE_METHOD(Fixture, "a table says what it lacks and what cannot be written as a text") {
  CHECK(error("test.Say", {}) == "test.Say needs text=: a string");
  CHECK(error("test.Say", {{"text", "a"}, {"inner", "b"}}) ==
        "test.Say.inner is a table, which cannot be written as text");
  CHECK(error("test.Say", {{"text", "a"}, {"text", "b"}}) == "test.Say.text is given twice");
  CHECK(error("test.Say", {{"text", "a"}, {"noise", "b"}}).starts_with("test.Say has no field 'noise'; it has text"));
}

TEST_CASE_METHOD(Fixture, "types are found by full or last name, and mistyped ones suggested") {
  CHECK(find_component(types, "test.Health").value()->name == "test.Health");
  CHECK(find_component(types, "Health").value()->name == "test.Health");
  CHECK(find_message(types, "Damage").value()->name == "test.Damage");
  CHECK(find_component(types, "Helth").error().text == "no component \"Helth\"; did you mean test.Health?");
  CHECK(find_component(types, "health").error().text == "no component \"health\"; did you mean test.Health?");
  // An end of a name is one of whole words only.
  for (const char* part : {"ealth", "est.Health", "t.Health", ".Health", "h", ""}) {
    CAPTURE(part);
    CHECK_FALSE(find_component(types, part));
  }
  CHECK(find_component(types, "test.Damage").error().text ==
        "no component \"test.Damage\": that type is not a component");
  CHECK(find_component(types, "Rainfall").error().text ==
        "no component \"Rainfall\" in this world; it has test.Health, test.Lamp, test.Level, test.Matrix, test.Tag64, "
        "muster.ChildOf, muster.Name");
}

TEST_CASE_METHOD(Fixture, "a field is found behind its component") {
  const auto field = find_field(types, "Health.value");
  REQUIRE(field);
  CHECK(field->component->name == "test.Health");
  CHECK(field->path == "value");
  CHECK(find_field(types, "test.Matrix.m[2]")->place.offset == 8);
  CHECK(find_field(types, "Health.vale").error().text == "test.Health has no field 'vale'; it has value");
  CHECK(find_field(types, "test.Helth.value").error().text == "no component \"test.Helth\"; did you mean test.Health?");
  CHECK(find_field(types, "Helth.value").error().text == "no component \"Helth\"; did you mean test.Health?");
  CHECK(find_field(types, "Health").error().text ==
        "test.Health is a component; name one of its fields, as in Health.value");
  CHECK(find_field(types, "value").error().text ==
        "'value' does not name a field; write Component.field, as in Health.value");
}

TEST_CASE("ids are written index:generation, and nothing else is one") {
  Entity e;
  CHECK(parse_id("12:3", e));
  CHECK(e == Entity{12, 3});
  CHECK(id_text(e) == "12:3");
  for (const char* text : {"12", "12:", ":3", "a:1", "1:2:3", "-1:2", "99999999999:1", "0x1:1"}) {
    INFO(text);
    CHECK_FALSE(parse_id(text, e));
  }
}

}  // namespace value_text_test
