#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "everything.h"
#include "schema/load.h"
#include "schema/muster.h"
#include "schema/reduce.h"

namespace {

using muster::FieldKind;
using muster::TypeDescriptor;

muster::Schema load(std::span<const std::uint8_t> bfbs) {
  auto schema = muster::load_schema(std::as_bytes(bfbs));
  REQUIRE(schema.has_value());
  return std::move(*schema);
}

const TypeDescriptor& type(const muster::Schema& schema, std::string_view name) {
  for (const TypeDescriptor& t : schema.types)
    if (t.name == name) return t;
  throw std::runtime_error("no type " + std::string(name));
}
const muster::FieldDescriptor& field(const TypeDescriptor& type, std::string_view name) {
  for (const muster::FieldDescriptor& f : type.fields)
    if (f.name == name) return f;
  throw std::runtime_error("no field " + std::string(name));
}

/// What the compiler knows of T is what the loader says of it.
template <class T>
void check_traits(const muster::Schema& schema) {
  using Traits = muster::TypeTraits<T>;
  const TypeDescriptor& loaded = type(schema, Traits::name);
  INFO(loaded.name);
  CHECK(Traits::id == loaded.id);
  CHECK(Traits::id == muster::hash32(loaded.name));
  CHECK(Traits::fingerprint == loaded.fingerprint);
  CHECK(Traits::role == loaded.role);
  CHECK(Traits::tag == loaded.tag);
  CHECK(Traits::size == loaded.size);
  REQUIRE(Traits::fields.size() == loaded.fields.size());
  for (std::size_t i = 0; i < loaded.fields.size(); ++i) {
    const muster::FieldDescriptor& f = loaded.fields[i];
    CHECK(Traits::fields[i] ==
          muster::FieldEntry{f.name, f.kind, loaded.is_table ? f.slot : f.offset, f.size, f.count});
  }
  if constexpr (Traits::size != 0) {
    CHECK(sizeof(T) == loaded.size);
    CHECK(alignof(T) == loaded.align);
    // A default-constructed value is the schema's default, padding included.
    const T value{};
    REQUIRE(loaded.default_bytes.size() == sizeof(T));
    CHECK(std::memcmp(&value, loaded.default_bytes.data(), sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("The traits that schemac wrote are what the loader finds in the schema they carry", "[load]") {
  const muster::Schema schema = load(muster::TypeTraits<golden::Health>::schema);
  check_traits<golden::Matrix>(schema);
  check_traits<golden::Slot>(schema);
  check_traits<golden::Health>(schema);
  check_traits<golden::Dead>(schema);
  check_traits<golden::Config>(schema);
  check_traits<golden::Damage>(schema);
  check_traits<golden::Line>(schema);
  check_traits<golden::Chat>(schema);
  check_traits<golden::ChatView>(schema);
  check_traits<golden::Tree>(schema);
  check_traits<golden::Nothing>(schema);
  check_traits<golden::Vec3>(schema);
  check_traits<muster::Entity>(schema);
  check_traits<muster::SetFieldIf>(schema);
  check_traits<muster::InternText>(schema);
}

TEST_CASE("Roles are constraints that code can ask for", "[load]") {
  STATIC_REQUIRE(muster::ComponentType<golden::Health>);
  STATIC_REQUIRE(muster::ComponentType<golden::Dead>);
  STATIC_REQUIRE(muster::TypeTraits<golden::Dead>::tag);
  STATIC_REQUIRE(muster::MessageType<golden::Damage>);
  STATIC_REQUIRE(muster::TableMessageType<golden::Chat>);
  STATIC_REQUIRE(muster::TableMessageType<golden::ChatView>);
  STATIC_REQUIRE(muster::TypeTraits<golden::ChatView>::view);
  STATIC_REQUIRE_FALSE(muster::TypeTraits<golden::Chat>::view);
  STATIC_REQUIRE(std::is_same_v<muster::TypeTraits<golden::ChatView>::Native, golden::Chat>);
  STATIC_REQUIRE_FALSE(muster::ComponentType<golden::Vec3>);
  STATIC_REQUIRE_FALSE(muster::GeneratedType<int>);
}

TEST_CASE("Attributes, documentation and references arrive in the descriptors", "[load]") {
  const muster::Schema schema = load(muster::TypeTraits<golden::Health>::schema);
  const TypeDescriptor& health = type(schema, "golden.Health");
  CHECK(health.doc == "How much it can take, and one field of each kind.");
  CHECK(health.was == "golden.Hp");
  CHECK(health.file == "//everything.fbs");
  CHECK(type(schema, "golden.Vec3").file == "//parts.fbs");
  CHECK(health.remote == muster::RemoteRight::edit);

  const muster::FieldDescriptor& value = field(health, "value");
  CHECK(value.doc == "What is left.");
  CHECK(value.unit == "hp");
  CHECK(value.was == "hp");
  CHECK(value.has_range);
  CHECK(value.range_min == 0);
  CHECK(value.range_max == 100);
  CHECK(value.default_text == "100");
  CHECK(field(health, "tint").color);
  CHECK(field(health, "tint").is_array);
  CHECK(field(health, "mesh").asset);
  CHECK(field(health, "mesh").kind == FieldKind::text);
  CHECK(field(health, "mesh").default_text == "meshes/orc.glb");
  CHECK(field(health, "target").kind == FieldKind::entity);
  REQUIRE(field(health, "traits").enumeration != nullptr);
  CHECK(field(health, "traits").enumeration->bit_flags);
  CHECK(field(health, "team").enumeration->values.at(0).doc == "Nobody's.");

  const std::uint32_t slots = field(health, "slots").offset;
  CHECK(health.entity_offsets == std::vector<std::uint32_t>{slots + 16, slots + 40, field(health, "target").offset});
  CHECK(health.text_offsets == std::vector<std::uint32_t>{slots + 8, slots + 32, field(health, "mesh").offset});

  const TypeDescriptor& damage = type(schema, "golden.Damage");
  CHECK(damage.remote == muster::RemoteRight::control);
  CHECK(damage.journal == muster::JournalPolicy::latest);
  CHECK(type(schema, "golden.Chat").remote == muster::RemoteRight::view);
  CHECK(type(schema, "golden.Chat").journal == muster::JournalPolicy::never);
  CHECK(type(schema, "golden.Config").journal == muster::JournalPolicy::always);
}

TEST_CASE("Fields of tables know their slots; deprecated ones are left out", "[load]") {
  const muster::Schema schema = load(muster::TypeTraits<golden::Health>::schema);
  const TypeDescriptor& chat = type(schema, "golden.Chat");
  CHECK(chat.is_table);
  CHECK(chat.size == 0);
  CHECK(chat.align == 16);
  CHECK(chat.fields.front().name == "text");
  CHECK(chat.fields.front().slot == 4);
  CHECK(chat.fields.front().required);
  CHECK(field(chat, "maybe").optional);
  CHECK_FALSE(field(chat, "place").optional);
  CHECK(field(chat, "team").default_text == "blue");
  CHECK(field(chat, "count").default_text == "-3");
  CHECK(field(chat, "loud").default_text == "true");
  CHECK(field(chat, "big").default_text == "9223372036854775807");
  CHECK(field(chat, "lines").element == FieldKind::table);
  CHECK(field(chat, "lines").type == muster::hash32("golden.Line"));
  CHECK(field(chat, "readers").element == FieldKind::entity);
  for (const auto& f : chat.fields) CHECK(f.name != "gone");
}

TEST_CASE("Fingerprints are those that files and peers have", "[load]") {
  // FNV-1a of the text that schema/layout.h draws. These numbers may never change: they are in saved worlds.
  CHECK(muster::TypeTraits<golden::Vec3>::fingerprint ==
        muster::hash64("struct 12 4\n0 float32 1 x\n4 float32 1 y\n8 float32 1 z\n"));
  CHECK(muster::TypeTraits<golden::Dead>::fingerprint == muster::hash64("struct 1 1\n0 uint8 1 nothing\n"));
  CHECK(muster::TypeTraits<golden::Damage>::fingerprint ==
        muster::hash64("struct 16 8\n0 int32 1 amount\n8 entity 1 from\n"));
  CHECK(muster::TypeTraits<golden::Tree>::fingerprint ==
        muster::hash64("table\n4 int32 value\n6 table left golden.Tree\n8 vector table rest golden.Tree\n"));
  CHECK(muster::TypeTraits<golden::Slot>::fingerprint ==
        muster::hash64("struct 24 8\n0 uint16 1 count\n8 text 1 item\n16 entity 1 owner\n"));
}

TEST_CASE("A schema that lies at an odd address loads as well", "[load]") {
  const auto bfbs = std::as_bytes(muster::TypeTraits<golden::Health>::schema);
  std::vector<std::byte> shifted(bfbs.size() + 3);
  std::memcpy(shifted.data() + 3, bfbs.data(), bfbs.size());
  const auto schema = muster::load_schema(std::span(shifted).subspan(3));
  REQUIRE(schema.has_value());
  CHECK(type(*schema, "golden.Health").fingerprint == muster::TypeTraits<golden::Health>::fingerprint);
}

TEST_CASE("A schema that is reduced has the types that were named and what they hold, with the same layouts",
          "[load]") {
  const auto whole = std::as_bytes(muster::TypeTraits<golden::Health>::schema);
  const muster::Schema all = load(muster::TypeTraits<golden::Health>::schema);
  const auto names = [&](const std::set<std::string>& kept) {
    const auto bytes = muster::reduce_schema(whole, kept);
    const auto reduced = muster::load_schema(bytes);
    REQUIRE(reduced);
    std::set<std::string> found;
    for (const TypeDescriptor& each : reduced->types) {
      found.insert(each.name);
      const TypeDescriptor& before = type(all, each.name);
      CHECK(each.fingerprint == before.fingerprint);
      CHECK((each.default_bytes == before.default_bytes));
      CHECK(each.doc == before.doc);
      CHECK(each.file == before.file);
      CHECK(each.was == before.was);
      CHECK(each.remote == before.remote);
      CHECK(each.journal == before.journal);
      REQUIRE(each.fields.size() == before.fields.size());
      for (std::size_t i = 0; i < each.fields.size(); ++i) {
        const muster::FieldDescriptor &now = each.fields[i], &was = before.fields[i];
        CHECK(now.name == was.name);
        CHECK(now.doc == was.doc);
        CHECK(now.default_text == was.default_text);
        CHECK(now.required == was.required);
        CHECK(now.optional == was.optional);
        CHECK(now.unit == was.unit);
        CHECK(now.has_range == was.has_range);
        REQUIRE((now.enumeration == nullptr) == (was.enumeration == nullptr));
        if (now.enumeration) {
          CHECK(now.enumeration->name == was.enumeration->name);
          CHECK(now.enumeration->doc == was.enumeration->doc);
          CHECK(now.enumeration->bit_flags == was.enumeration->bit_flags);
          CHECK(now.enumeration->values.size() == was.enumeration->values.size());
        }
      }
    }
    for (const muster::EnumDescriptor& each : reduced->enums) found.insert(each.name);
    return found;
  };
  using Names = std::set<std::string>;
  CHECK(names({"golden.Dead"}) == Names{"golden.Dead"});
  CHECK(names({"golden.Slot"}) == Names{"golden.Slot", "muster.Entity"});
  CHECK(names({"golden.Tree"}) == Names{"golden.Tree"});
  CHECK(names({"golden.Health"}) == Names{"golden.Health", "golden.Slot", "golden.Vec3", "golden.Matrix", "golden.Team",
                                          "golden.Gate", "golden.Trait", "muster.Entity"});
  CHECK(names({"golden.Chat"}) ==
        Names{"golden.Chat", "golden.Line", "golden.Vec3", "golden.Team", "golden.Trait", "muster.Entity"});
  CHECK(names({"golden.Nobody"}).empty());
}

TEST_CASE("A schema can drop the comments on the types of some files; it has all else that it had", "[load]") {
  const auto whole = std::as_bytes(muster::TypeTraits<golden::Health>::schema);
  const muster::Schema all = load(muster::TypeTraits<golden::Health>::schema);
  const std::string own = type(all, "golden.Health").file;
  const auto bare = muster::load_schema(muster::drop_comments(whole, {own}));
  REQUIRE(bare);
  REQUIRE(bare->types.size() == all.types.size());
  bool some_are_kept = false;
  for (std::size_t i = 0; i < all.types.size(); ++i) {
    const TypeDescriptor &now = bare->types[i], &was = all.types[i];
    CHECK(now.name == was.name);
    CHECK(now.fingerprint == was.fingerprint);
    CHECK((now.default_bytes == was.default_bytes));
    const bool is_kept = was.file != own;
    some_are_kept = some_are_kept || (is_kept && !was.doc.empty());
    CHECK(now.doc == (is_kept ? was.doc : ""));
    REQUIRE(now.fields.size() == was.fields.size());
    for (std::size_t k = 0; k < was.fields.size(); ++k) {
      CHECK(now.fields[k].doc == (is_kept ? was.fields[k].doc : ""));
      CHECK(now.fields[k].unit == was.fields[k].unit);
    }
  }
  CHECK(some_are_kept);
  REQUIRE(bare->enums.size() == all.enums.size());
  for (std::size_t i = 0; i < all.enums.size(); ++i) {
    const muster::EnumDescriptor &now = bare->enums[i], &was = all.enums[i];
    CHECK(now.name == was.name);
    CHECK(now.doc == (was.file == own ? "" : was.doc));
    REQUIRE(now.values.size() == was.values.size());
    for (std::size_t k = 0; k < was.values.size(); ++k) {
      CHECK(now.values[k].value == was.values[k].value);
      CHECK(now.values[k].doc == (was.file == own ? "" : was.values[k].doc));
    }
  }
}
