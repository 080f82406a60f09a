#include "messages/type_table.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/messages/test_types.h"

namespace type_table_test {
namespace {

using namespace muster;
using namespace ::test;

void add_test_types(TypeTable& table) {
  const auto added = table.add<Damage>();
  INFO((added ? std::string() : added.error().text()));
  REQUIRE(added.has_value());
}

/// The binary schema of the test types with every occurrence of some words replaced by others of the same length.
std::vector<std::byte> patched(std::vector<std::pair<std::string_view, std::string_view>> words) {
  const auto bytes = std::as_bytes(TypeTraits<Damage>::schema);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [from, to] : words) {
    REQUIRE(from.size() == to.size());
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++found) text.replace(at, to.size(), to);
    REQUIRE(found > 0);
  }
  const auto made = std::as_bytes(std::span(text));
  return {made.begin(), made.end()};
}

std::string why_not(const TypeTable& table, const TypeDescriptor& type, std::string_view path) {
  const auto place = table.place(type, path);
  REQUIRE(!place.has_value());
  return place.error();
}

TEST_CASE("types are found by id, by full name, and not otherwise") {
  TypeTable table;
  CHECK(table.find(TypeTraits<Damage>::id) == nullptr);
  add_test_types(table);
  const TypeDescriptor* const damage = table.find(TypeTraits<Damage>::id);
  REQUIRE(damage != nullptr);
  CHECK(damage->name == "test.Damage");
  CHECK(table.find("test.Damage") == damage);
  CHECK(table.find("Damage") == nullptr);
  CHECK(table.find(std::string_view()) == nullptr);
  CHECK(table.find(TypeTraits<Damage>::id + 1) == nullptr);
}

TEST_CASE("every type stays findable, and every other id unknown, while a table grows") {
  TypeTable table;
  REQUIRE(table.add<Create>().has_value());
  const std::size_t before = table.types().size();
  const TypeDescriptor* const create = table.find("muster.Create");
  add_test_types(table);
  CHECK(table.types().size() > before);
  CHECK(table.find("muster.Create") == create);
  std::set<TypeId> ids;
  for (const TypeDescriptor* type : table.types()) {
    REQUIRE(table.find(type->id) == type);
    REQUIRE(table.find(type->name) == type);
    ids.insert(type->id);
  }
  CHECK(ids.size() == table.types().size());
  for (TypeId id = 0; id < 100000; ++id)
    if (!ids.contains(id)) REQUIRE(table.find(id) == nullptr);
}

TEST_CASE("the same schema twice adds nothing") {
  TypeTable table;
  add_test_types(table);
  const std::size_t types = table.types().size(), schemas = table.schemas().size();
  const std::uint64_t fingerprint = table.fingerprint();
  REQUIRE(table.add_schema(std::as_bytes(TypeTraits<Damage>::schema)).has_value());
  CHECK(table.types().size() == types);
  CHECK(table.schemas().size() == schemas);
  CHECK(table.fingerprint() == fingerprint);
}

TEST_CASE("a name's last part is resolved where only one type ends so") {
  TypeTable table;
  add_test_types(table);
  CHECK(table.resolve("test.Damage") == table.find("test.Damage"));
  CHECK(table.resolve("Damage") == table.find("test.Damage"));
  std::vector<const TypeDescriptor*> candidates;
  CHECK(table.resolve("amage", &candidates) == nullptr);
  CHECK(candidates.empty());
  CHECK(table.resolve("", &candidates) == nullptr);
  CHECK(candidates.empty());
  REQUIRE(table.add_schema(patched({{"test.", "tost."}})).has_value());
  CHECK(table.resolve("Damage", &candidates) == nullptr);
  REQUIRE(candidates.size() == 2);
  CHECK(candidates[0] == table.find("test.Damage"));
  CHECK(candidates[1] == table.find("tost.Damage"));
}

TEST_CASE("a path names a field, an element, a whole array or a nested struct") {
  TypeTable table;
  add_test_types(table);
  const TypeDescriptor& painted = *table.find("test.Painted");
  const auto check = [&](std::string_view path, std::size_t offset, std::size_t size, std::uint32_t count) {
    INFO(path);
    const auto place = table.place(painted, path);
    REQUIRE(place.has_value());
    CHECK(place->offset == offset);
    CHECK(place->size == size);
    CHECK(place->count == count);
    const FieldPlace* const by_id = table.place(painted, hash32(path));
    REQUIRE(by_id != nullptr);
    CHECK(by_id->field == place->field);
    CHECK(by_id->offset == offset);
    CHECK(by_id->size == size);
    CHECK(by_id->count == count);
  };
  constexpr std::size_t slots = offsetof(Painted, slots);
  check("on", 0, 1, 1);
  check("weight", offsetof(Painted, weight), 8, 1);
  check("steps", offsetof(Painted, steps), 8, 2);
  check("steps[1]", offsetof(Painted, steps) + 4, 4, 1);
  check("slots", slots, 2 * sizeof(Slot), 2);
  check("slots[1]", slots + sizeof(Slot), sizeof(Slot), 1);
  check("slots[1].at", slots + sizeof(Slot) + offsetof(Slot, at), sizeof(Point), 1);
  check("slots[1].at.z", slots + sizeof(Slot) + offsetof(Slot, at) + 8, 4, 1);
  check("slots[0].full", slots + offsetof(Slot, full), 1, 1);
}

TEST_CASE("a path that names nothing is refused with what would fit") {
  TypeTable table;
  add_test_types(table);
  const TypeDescriptor& painted = *table.find("test.Painted");
  const auto why = [&](std::string_view path) { return why_not(table, painted, path); };
  CHECK(why("size") == "test.Painted has no field 'size'; it has on, color, wings, steps, slots, weight, name");
  CHECK(why("") == "test.Painted has no field ''; it has on, color, wings, steps, slots, weight, name");
  CHECK(why("slots[0].size") == "test.Slot has no field 'size'; it has count, full, at");
  CHECK(why("slots[0].at.") == "test.Point has no field ''; it has x, y, z");
  CHECK(why("weight[0]") == "'weight' of test.Painted is not an array");
  for (const char* element : {"slots[]", "slots[x]", "slots[-1]", "slots[0", "slots[0]x", "slots[99999999999]"}) {
    INFO(element);
    CHECK(why(element) == "'" + std::string(element) + "' is not an element: expected slots[0] to slots[1]");
  }
  CHECK(why("slots[2]") == "'slots[2]' is outside the array: slots of test.Painted has elements 0 to 1");
  CHECK(why("weight.x") == "'weight' of test.Painted is not a struct: it has no field 'x'");
  CHECK(why("slots.at") == "'slots' of test.Painted is an array: name an element, slots[0] to slots[1]");
  CHECK(why_not(table, *table.find("test.Say"), "text") == "test.Say is a table: its fields have no fixed offsets");
  CHECK(table.place(painted, hash32("slots[2]")) == nullptr);
  CHECK(table.place(painted, hash32("slots.at")) == nullptr);
  CHECK(table.place(*table.find("test.Say"), hash32("text")) == nullptr);
}

/// Adding `schema` must fail with `error` and leave the table as it was.
void require_refused(TypeTable& table, std::span<const std::byte> schema, std::string_view error) {
  const std::vector<const TypeDescriptor*> types(table.types().begin(), table.types().end());
  const std::size_t schemas = table.schemas().size();
  const std::uint64_t fingerprint = table.fingerprint();
  const auto added = table.add_schema(schema);
  REQUIRE(!added.has_value());
  if (!error.empty()) CHECK(added.error().text() == error);
  CHECK(!added.error().what.empty());
  CHECK(std::equal(types.begin(), types.end(), table.types().begin(), table.types().end()));
  CHECK(table.schemas().size() == schemas);
  CHECK(table.fingerprint() == fingerprint);
}

TEST_CASE("a schema in which a known type has another layout is refused, and nothing of it is added") {
  TypeTable table;
  add_test_types(table);
  require_refused(table, patched({{"weight", "height"}}), "");
  require_refused(table, patched({{"amount", "number"}}), "test.Damage.amount: is called number in the added schema");
}

TEST_CASE("bytes that are no schema are refused, and nothing is added") {
  TypeTable table;
  add_test_types(table);
  require_refused(table, {}, "");
  const auto whole = std::as_bytes(TypeTraits<Damage>::schema);
  require_refused(table, whole.first(whole.size() / 2), "");
}

TEST_CASE("two names with one type id are refused, and nothing is added") {
  static_assert(hash32("test.TRrcqM") == hash32("test.Painted"));
  TypeTable table;
  add_test_types(table);
  require_refused(table, patched({{"Painted", "Paintod"}, {"Damage", "TRrcqM"}}),
                  "test.TRrcqM: has the same type id as test.Painted: rename one of them");
}

TEST_CASE("fingerprints say whether two tables know the same layouts, in whatever order they met them") {
  TypeTable one, other;
  add_test_types(one);
  REQUIRE(other.add<Create>().has_value());
  CHECK(one.fingerprint() != other.fingerprint());
  add_test_types(other);
  CHECK(one.fingerprint() == other.fingerprint());
  CHECK(one.types().front() != other.types().front());
  REQUIRE(other.add_schema(patched({{"test.", "tost."}})).has_value());
  CHECK(one.fingerprint() != other.fingerprint());
}

TEST_CASE("the first difference between two layouts of one type is named, whatever it is") {
  const auto field = [](std::string name, FieldKind kind, std::uint32_t offset) {
    FieldDescriptor made;
    made.name = std::move(name);
    made.kind = kind;
    made.offset = offset;
    made.size = 4;
    made.count = 1;
    return made;
  };
  TypeDescriptor known;
  known.name = "g.A";
  known.size = 8;
  known.fields = {field("x", FieldKind::int32, 0), field("y", FieldKind::int32, 4)};
  const auto difference = [&](auto&& change) {
    TypeDescriptor other = known;
    change(other);
    return layout_difference(known, other, "in the file").text();
  };
  CHECK(difference([](TypeDescriptor& other) { other.is_table = true; }) ==
        "g.A: is a struct here and a table in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields.pop_back(); }) == "g.A.y: is missing in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields.emplace_back().name = "z"; }) ==
        "g.A.z: is new in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[0].name = "w"; }) == "g.A.x: is called w in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].kind = FieldKind::float32; }) ==
        "g.A.y: has a different type in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].element = FieldKind::string; }) ==
        "g.A.y: has a different type in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].type = 7; }) ==
        "g.A.y: has a different type in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].offset = 8; }) ==
        "g.A.y: is at 4, but at 8 in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].count = 2; }) ==
        "g.A.y: has 1 elements of 4 bytes, but 2 of 4 in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].size = 2; }) ==
        "g.A.y: has 1 elements of 4 bytes, but 1 of 2 in the file");
  CHECK(difference([](TypeDescriptor& other) { other.size = 12; }) ==
        "g.A: has a different layout (8 bytes; 12 in the file)");
  known.is_table = true;
  known.fields[0].slot = 4;
  known.fields[1].slot = 6;
  CHECK(difference([](TypeDescriptor& other) { other.is_table = false; }) ==
        "g.A: is a table here and a struct in the file");
  CHECK(difference([](TypeDescriptor& other) { other.fields[1].slot = 8; }) == "g.A.y: is at 6, but at 8 in the file");
}

}  // namespace
}  // namespace type_table_test
