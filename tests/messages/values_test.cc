// What a client may not send although it is well-formed: numbers beyond their fields, bytes that are no text.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/judge/value_limits.h"
#include "messages/judge/verifier.h"
#include "messages/value_text.h"
#include "schema/muster.h"
#include "schema/session.h"
#include "schema/table.h"
#include "tests/messages/hex.h"
#include "tests/messages/test_types.h"

namespace values_test {
namespace {

using namespace muster;
using namespace ::test;

constexpr float no_number = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
constexpr Entity orc{1, 1};

const TypeTable& types() {
  static TypeTable table;
  static const bool added = table.add<Damage>().has_value() && table.add<session::Follow>().has_value() &&
                            table.add<session::GetSchema>().has_value() && table.add<SetField>().has_value();
  REQUIRE(added);
  return table;
}

template <class Write>
std::vector<std::byte> batch(Write&& write) {
  BatchBuilder to;
  write(to);
  REQUIRE(to.batches() == 1);
  return {to.bytes().begin(), to.bytes().end()};
}
template <class T>
std::vector<std::byte> table(const T& message) {
  return batch([&](BatchWriter& to) { to.append_table(TypeTraits<T>::id, Entity{}, encode(message)); });
}

/// What is wrong with its values; they are no fault where nobody asks for them.
BatchFault judge(std::span<const std::byte> bytes) {
  const AlignedBytes copy(bytes);
  CHECK(verify_batch(copy.span(), types()).has_value());
  const auto verdict = verify_batch(copy.span(), types(), {.values = true});
  REQUIRE_FALSE(verdict.has_value());
  CHECK(is_about_a_value(verdict.error().fault));
  return verdict.error();
}
bool good(std::span<const std::byte> bytes) {
  const AlignedBytes copy(bytes);
  const auto verdict = verify_batch(copy.span(), types(), {.values = true});
  INFO((verdict ? std::string() : verdict.error().text));
  CHECK(verdict.has_value());
  return verdict.has_value();
}
void check(const BatchFault& found, Fault fault, std::string_view field, std::string_view text) {
  CHECK(std::string(name(found.fault)) == name(fault));
  CHECK(found.field == field);
  CHECK(found.text == text);
}

std::vector<std::byte> damage(float amount) {
  return batch([&](BatchWriter& to) { to.append(orc, Damage{.amount = 1}), to.append(orc, Damage{.amount = amount}); });
}
std::vector<std::byte> made(const Level& level, const Health& health = {}) {
  return batch([&](BatchWriter& to) { to.append_rows(orc, Make{}, level, health); });
}

/// A SetField of the field that `path` names.
template <class Component, class Value>
std::vector<std::byte> written(std::string_view path, const Value& value) {
  SetField set{.component = TypeTraits<Component>::id, .field = hash32(path), .bytes = sizeof value};
  std::memcpy(set.value.data(), &value, sizeof value);
  return batch([&](BatchWriter& to) { to.append(orc, set); });
}

}  // namespace

TEST_CASE("a float from outside is finite: the fault names message, field, value and place") {
  CHECK(good(damage(-3)));
  const BatchFault found = judge(damage(no_number));
  check(found, Fault::not_finite, "amount", "test.Damage.amount is nan; expected a finite number");
  CHECK(found.type == TypeTraits<Damage>::id);
  CHECK(found.offset == 32 + 24 + 8);
  check(judge(damage(-inf)), Fault::not_finite, "amount", "test.Damage.amount is -inf; expected a finite number");
  check(judge(batch([](BatchWriter& to) { to.append_world(Tick{.dt = std::numeric_limits<double>::infinity()}); })),
        Fault::not_finite, "dt", "test.Tick.dt is inf; expected a finite number");
  check(judge(batch([](BatchWriter& to) {
          const Entity both[] = {orc, {2, 1}};
          to.append_shared(both, Nudge{.x = 1, .y = 2, .z = no_number});
        })),
        Fault::not_finite, "z", "test.Nudge.z is nan; expected a finite number");
}

TEST_CASE("floats of nested structs and arrays are named by their whole path") {
  Painted painted;
  painted.slots[1].at.y = inf;
  check(judge(batch([&](BatchWriter& to) { to.append(orc, painted); })), Fault::not_finite, "slots[1].at.y",
        "test.Painted.slots[1].at.y is inf; expected a finite number");
  Matrix matrix{};
  matrix.m[3] = no_number;
  check(judge(batch([&](BatchWriter& to) { to.append_rows(orc, Make{}, Health{}, matrix); })), Fault::not_finite,
        "m[3]", "test.Matrix.m[3] is nan; expected a finite number");
}

TEST_CASE("a number from outside is within its field's range, both ends included") {
  CHECK(good(made({.value = 5, .steps = {-2, 0, 2}, .share = 0.1f, .big = 1000})));
  CHECK(good(made({.share = 0.7f})));  // as a float the bound is not 0.7 either
  check(judge(made({.value = 0})), Fault::out_of_range, "value",
        "test.Level.value is 0; expected a whole number from 1 to 5");
  check(judge(made({.value = 6})), Fault::out_of_range, "value",
        "test.Level.value is 6; expected a whole number from 1 to 5");
  check(judge(made({.steps = {0, -3, 0}})), Fault::out_of_range, "steps[1]",
        "test.Level.steps[1] is -3; expected a whole number from -2 to 2");
  check(judge(made({.share = 0.75f})), Fault::out_of_range, "share",
        "test.Level.share is 0.75; expected a number from 0.1 to 0.7");
  check(judge(made({.share = no_number})), Fault::not_finite, "share",
        "test.Level.share is nan; expected a number from 0.1 to 0.7");
  check(judge(made({.at = {.z = no_number}})), Fault::not_finite, "at.z",
        "test.Level.at.z is nan; expected a finite number");
  check(judge(made({.big = 1001})), Fault::out_of_range, "big",
        "test.Level.big is 1001; expected a whole number from 0 to 1000");
  const BatchFault row = judge(made({}, {.value = 101}));
  check(row, Fault::out_of_range, "value", "test.Health.value is 101; expected a number from 0 to 100");
  CHECK(row.type == TypeTraits<Health>::id);
}

TEST_CASE("a bound that no float has is the float next to it, for floats") {
  FieldDescriptor field;
  field.has_range = true;
  field.range_min = 0.7;  // a float makes less of it
  field.range_max = 1.1;  // and of this more
  const auto fault = [&]<class T>(T value, FieldKind kind) {
    return number_fault(field, kind, reinterpret_cast<const std::byte*>(&value));
  };
  REQUIRE(static_cast<double>(0.7f) < 0.7);
  REQUIRE(static_cast<double>(1.1f) > 1.1);
  CHECK(fault(0.7f, FieldKind::float32) == std::nullopt);
  CHECK(fault(1.1f, FieldKind::float32) == std::nullopt);
  CHECK(fault(std::nextafter(0.7f, 0.f), FieldKind::float32) == Fault::out_of_range);
  CHECK(fault(std::nextafter(1.1f, 2.f), FieldKind::float32) == Fault::out_of_range);
  CHECK(fault(0.7, FieldKind::float64) == std::nullopt);
  CHECK(fault(static_cast<double>(0.7f), FieldKind::float64) == Fault::out_of_range);
  CHECK(fault(static_cast<double>(1.1f), FieldKind::float64) == Fault::out_of_range);
}

TEST_CASE("what SetField and SetFieldIf carry is judged as the field that it is written to") {
  CHECK(good(written<Health>("value", 100.f)));
  CHECK(good(written<Level>("steps", std::array<std::int16_t, 3>{-2, 1, 2})));
  const BatchFault found = judge(written<Health>("value", 100.5f));
  check(found, Fault::out_of_range, "value", "test.Health.value is 100.5; expected a number from 0 to 100");
  CHECK(found.type == TypeTraits<Health>::id);
  CHECK(found.offset == 32 + 8 + offsetof(SetField, value));
  check(judge(written<Level>("steps", std::array<std::int16_t, 3>{0, 0, 3})), Fault::out_of_range, "steps[2]",
        "test.Level.steps[2] is 3; expected a whole number from -2 to 2");
  check(judge(written<Level>("at.y", no_number)), Fault::not_finite, "at.y",
        "test.Level.at.y is nan; expected a finite number");
  check(judge(written<Level>("at", Point{.x = 0, .y = 1, .z = inf})), Fault::not_finite, "at.z",
        "test.Level.at.z is inf; expected a finite number");
  SetFieldIf either{.set = {.component = TypeTraits<Health>::id, .field = hash32("value"), .bytes = 4}};
  std::memcpy(either.set.value.data(), &no_number, 4);
  check(judge(batch([&](BatchWriter& to) { to.append(orc, either); })), Fault::not_finite, "value",
        "test.Health.value is nan; expected a number from 0 to 100");
  // The registry refuses these, with the entity named.
  CHECK(good(written<Health>("no such field", no_number)));
  CHECK(good(written<Health>("value", 1e300)));
  CHECK(good(written<Damage>("amount", no_number)));
}

TEST_CASE("what is reserved is zero, and so is what follows a SetField's value") {
  check(judge(batch([](BatchWriter& to) { to.append(orc, Destroy{.reserved = 7}); })), Fault::not_zero, "reserved",
        "muster.Destroy.reserved is 7; it is reserved and must be 0");
  check(judge(batch([](BatchWriter& to) { to.append_world(session::GetSchema{.reserved = 1}); })), Fault::not_zero,
        "reserved", "muster.session.GetSchema.reserved is 1; it is reserved and must be 0");
  SetField set{.component = TypeTraits<Health>::id, .field = hash32("value"), .bytes = 4, .reserved = 1};
  check(judge(batch([&](BatchWriter& to) { to.append(orc, set); })), Fault::not_zero, "reserved",
        "muster.SetField.reserved is 1; it is reserved and must be 0");
  set.reserved = 0;
  set.value[63] = 9;
  check(judge(batch([&](BatchWriter& to) { to.append(orc, set); })), Fault::not_zero, "value",
        "muster.SetField.value: byte 63 is 9: test.Health.value has 4 bytes, so the rest must be 0");
}

TEST_CASE("a text from outside is UTF-8 without a zero byte, wherever it is in a table") {
  CHECK(good(table(InternText{.text = "Turm \xe5\xa1\x94\n"})));
  check(judge(table(InternText{.text = "T\xfcr"})), Fault::bad_text, "text",
        "muster.InternText.text: is not valid UTF-8 at byte 1");
  check(judge(table(InternText{.text = std::string("a\0b", 3)})), Fault::bad_text, "text",
        "muster.InternText.text: has a zero byte at byte 1");
  check(judge(table(Say{.text = "a", .names = {"b", "\xed\xa0\x80"}})), Fault::bad_text, "names[1]",
        "test.Say.names[1]: is not valid UTF-8 at byte 0");
  Say say{.text = "a"};
  say.words.push_back({.text = "\xff", .weight = 0});
  check(judge(table(say)), Fault::bad_text, "words[0].text", "test.Say.words[0].text: is not valid UTF-8 at byte 0");
}

TEST_CASE("numbers of tables: fields, structs, vectors of both, tables in tables") {
  CHECK(good(table(Measured{.depth = 10, .at = Point{}, .path = {Point{}}, .shares = {1, 2, 3}})));
  check(judge(table(Measured{.depth = 11})), Fault::out_of_range, "depth",
        "test.Measured.depth: is 11; expected a number from 0 to 10");
  check(judge(table(Measured{.at = Point{.x = no_number, .y = 0, .z = 0}})), Fault::not_finite, "at.x",
        "test.Measured.at.x: test.Point.x is nan; expected a finite number");
  check(judge(table(Measured{.path = {Point{}, Point{.x = 0, .y = -inf, .z = 0}}})), Fault::not_finite, "path[1].y",
        "test.Measured.path[1].y: test.Point.y is -inf; expected a finite number");
  check(judge(table(Measured{.shares = {0, 1, no_number}})), Fault::not_finite, "shares[2]",
        "test.Measured.shares[2]: is nan; expected a finite number");
  check(judge(table(session::Follow{.rate_max = no_number})), Fault::not_finite, "rate_max",
        "muster.session.Follow.rate_max: is nan; expected a finite number");
}

TEST_CASE("values in a template are judged, in components and in messages, and the node is named") {
  const auto value = []<class T>(const T& of) {
    TemplateValue made{.type = TypeTraits<T>::id, .fingerprint = TypeTraits<T>::fingerprint, .value = {}};
    if constexpr (TypeTraits<T>::role == TypeRole::table_message) {
      const std::vector<std::byte> bytes = encode(of);
      const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
      made.value.assign(first, first + bytes.size());
    } else {
      const auto* first = reinterpret_cast<const std::uint8_t*>(&of);
      made.value.assign(first, first + sizeof of);
    }
    return made;
  };
  DefineTemplate tower{.name = "tower", .nodes = {}, .texts = {}};
  tower.nodes.push_back({.parent = 0, .name = "", .components = {value(Health{.value = 5})}, .messages = {}});
  tower.nodes.push_back({.parent = 0, .name = "top", .components = {}, .messages = {value(Damage{.amount = 1})}});
  CHECK(good(table(tower)));
  DefineTemplate bad = tower;
  bad.nodes[0].components[0] = value(Health{.value = -1});
  check(judge(table(bad)), Fault::out_of_range, "value",
        "node 0 of the template: test.Health.value is -1; expected a number from 0 to 100");
  bad = tower;
  bad.nodes[1].messages[0] = value(Damage{.amount = no_number});
  check(judge(table(bad)), Fault::not_finite, "amount",
        "node 1 (\"top\") of the template: test.Damage.amount is nan; expected a finite number");
  bad.nodes[1].messages[0] = value(Measured{.depth = -1});
  check(judge(table(bad)), Fault::out_of_range, "depth",
        "node 1 (\"top\") of the template: test.Measured.depth: is -1; expected a number from 0 to 10");
  bad = tower;
  bad.nodes[1].name = "\xff";
  check(judge(table(bad)), Fault::bad_text, "nodes[1].name",
        "muster.DefineTemplate.nodes[1].name: is not valid UTF-8 at byte 0");
  // What does not fit its type is the registry's to refuse.
  bad = tower;
  bad.nodes[0].components[0].value.pop_back();
  bad.nodes[0].components[0].type = 12345;
  CHECK(good(table(bad)));
}

TEST_CASE("a timed message is judged as the message in it") {
  BatchBuilder inner, outer;
  inner.append(orc, Damage{.amount = no_number});
  outer.append_timed(5, 0, inner.front());
  check(judge(outer.bytes()), Fault::not_finite, "amount", "test.Damage.amount is nan; expected a finite number");
}

TEST_CASE("a text that is shared a million times is read once, and one value that is shared is no way to much work") {
  // A vector of 200,000 strings that are all one string of 100,000 bytes: 20 GB if each were read.
  std::vector<std::byte> bytes(1'000'000);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  const FieldDescriptor& names = *std::ranges::find(types().find("test.Say")->fields, "names", &FieldDescriptor::name);
  const FieldDescriptor& text = *std::ranges::find(types().find("test.Say")->fields, "text", &FieldDescriptor::name);
  constexpr std::uint32_t vtable = 16, at = 64, list = 80, count = 200'000, string = list + 4 + 4 * count,
                          length = 100'000;
  put(0, std::uint32_t{at});
  put(vtable, std::uint16_t{40});
  put(vtable + 2, std::uint16_t{12});
  put(vtable + text.slot, std::uint16_t{4});
  put(vtable + names.slot, std::uint16_t{8});
  put(at, std::int32_t{at - vtable});
  put(at + 4, std::uint32_t{string - (at + 4)});
  put(at + 8, std::uint32_t{list - (at + 8)});
  put(list, count);
  for (std::uint32_t i = 0; i < count; ++i) put(list + 4 + 4 * i, std::uint32_t{string - (list + 4 + 4 * i)});
  put(string, length);
  std::memset(bytes.data() + string + 4, 'a', length);
  BatchBuilder to;
  to.append_table(TypeTraits<Say>::id, Entity{}, bytes);
  CHECK(good(to.bytes()));
}

TEST_CASE("a person's number and text are judged by the same rule") {
  struct None final : ValueReferences {
    ValueResult<Entity> find_entity(std::string_view) override { return Entity{}; }
    ValueResult<Text> intern(std::string_view text) override { return Text{hash64(text)}; }
    std::string text(Text) override { return ""; }
  } none;
  const TypeDescriptor& level = *types().find("test.Level");
  const auto error = [&](const char* field, std::string text) {
    const auto read = parse_struct(types(), level, {{field, std::move(text)}}, none);
    return read ? std::string("taken") : read.error().text;
  };
  CHECK(error("share", "0.7") == "taken");
  CHECK(error("share", "0.75") == "test.Level.share cannot be '0.75': expected a number from 0.1 to 0.7");
  CHECK(error("share", "nan") == "test.Level.share cannot be 'nan': expected a number from 0.1 to 0.7");
  CHECK(error("at", "1,inf,2") == "test.Level.at (at.y) cannot be 'inf': expected a number");
  CHECK(error("value", "6") == "test.Level.value cannot be '6': expected a whole number from 1 to 5");
  const auto said = [&](const char* type, const char* field, std::string text) {
    const auto read = parse_table(types(), *types().find(type), {{field, std::move(text)}}, none);
    return read ? std::string("taken") : read.error().text;
  };
  CHECK(said("muster.InternText", "text", "T\xfcr") == "muster.InternText.text is not valid UTF-8 at byte 1");
}

TEST_CASE("values that no outsider may send are valid JSON all the same") {
  struct Broken final : ValueReferences {
    ValueResult<Entity> find_entity(std::string_view) override { return Entity{}; }
    ValueResult<Text> intern(std::string_view) override { return Text{}; }
    std::string text(Text) override { return std::string("\xff\0\x1b", 3); }
  } broken;
  Painted painted{.weight = -std::numeric_limits<double>::infinity(), .name = {7}};
  painted.slots[0].at.x = no_number;
  JsonWriter out;
  write_json(out, types(), *types().find("test.Painted"), reinterpret_cast<const std::byte*>(&painted), broken);
  CHECK(out.text().find(R"("x": "nan")") != std::string::npos);
  CHECK(out.text().find(R"("weight": "-inf")") != std::string::npos);
  CHECK(out.text().find("\"name\": \"\xef\xbf\xbd\\u0000\\u001b\"") != std::string::npos);
}

}  // namespace values_test
