#include "tests/registry/state/layouts.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "tests/schema/run_schemac.h"

namespace layouts {

using namespace muster;

namespace {

std::vector<std::byte> compiled(const ::test::Folder& folder, const std::string& name) {
  const ::test::Said said = ::test::run_schemac(folder, name + ".fbs --in-tree -o made.h --bfbs made.bfbs");
  INFO(said.errors);
  REQUIRE(said.code == 0);
  const std::string bytes = ::test::read_file(folder / "made.bfbs");
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

void write_muster(const ::test::Folder& folder, const Edits& edits) {
  std::string text = ::test::read_file(SOURCE_ROOT "/schema/muster.fbs");
  for (const auto& [part, other] : edits) {
    const std::size_t at = text.find(part);
    if (at == std::string::npos || text.find(part, at + 1) != std::string::npos)
      FAIL("not once in muster.fbs: " << part);
    text.replace(at, part.size(), other);
  }
  std::filesystem::create_directory(folder.path() / "schema");
  ::test::write_file(folder / "schema/muster.fbs", text);
}

}  // namespace

std::vector<std::byte> schema_of(const std::string& text, const Edits& muster) {
  const ::test::Folder folder;
  if (!muster.empty()) write_muster(folder, muster);
  ::test::write_file(folder / "game.fbs", "include \"schema/muster.fbs\";\nnamespace game;\n" + text);
  return compiled(folder, "game");
}

std::vector<std::byte> muster_schema(const Edits& edits) {
  const ::test::Folder folder;
  write_muster(folder, edits);
  return compiled(folder, "schema/muster");
}

World::World(const std::vector<std::string>& texts) {
  registry.add_type<Set>();
  for (const std::string& text : texts) {
    const auto added = registry.types().add_schema(schema_of(text));
    if (!added) FAIL(added.error().text());
  }
}

namespace {

void put(FieldKind kind, std::byte* at, double value) {
  const auto as = [&]<class T>(T number) { std::memcpy(at, &number, sizeof number); };
  switch (kind) {
    case FieldKind::float32: return as(static_cast<float>(value));
    case FieldKind::float64: return as(value);
    case FieldKind::int64: return as(static_cast<std::int64_t>(value));
    case FieldKind::entity: return as(Entity{static_cast<std::uint32_t>(value), 1});
    case FieldKind::text:
    case FieldKind::uint64: return as(static_cast<std::uint64_t>(value));
    case FieldKind::int32: return as(static_cast<std::int32_t>(value));
    case FieldKind::uint32: return as(static_cast<std::uint32_t>(value));
    case FieldKind::int16: return as(static_cast<std::int16_t>(value));
    case FieldKind::uint16: return as(static_cast<std::uint16_t>(value));
    case FieldKind::int8: return as(static_cast<std::int8_t>(value));
    default: return as(static_cast<std::uint8_t>(value));
  }
}

double get(FieldKind kind, const std::byte* at) {
  const auto as = [&]<class T>(T number) {
    std::memcpy(&number, at, sizeof number);
    return static_cast<double>(number);
  };
  switch (kind) {
    case FieldKind::float32: return as(float{});
    case FieldKind::float64: return as(double{});
    case FieldKind::int64: return as(std::int64_t{});
    case FieldKind::text:
    case FieldKind::uint64: return as(std::uint64_t{});
    case FieldKind::int32: return as(std::int32_t{});
    case FieldKind::entity:
    case FieldKind::uint32: return as(std::uint32_t{});
    case FieldKind::int16: return as(std::int16_t{});
    case FieldKind::uint16: return as(std::uint16_t{});
    case FieldKind::int8: return as(std::int8_t{});
    default: return as(std::uint8_t{});
  }
}

const TypeDescriptor& type_named(const EntityRegistry& registry, const std::string& name) {
  const TypeDescriptor* type = registry.types().find("game." + name);
  if (!type) FAIL("no type game." << name);
  return *type;
}

}  // namespace

std::vector<std::byte> World::bytes(const std::string& component, const Values& values) const {
  const TypeDescriptor& type = type_named(registry, component);
  std::vector<std::byte> made = type.default_bytes;
  for (const auto& [path, value] : values) {
    const auto place = registry.types().place(type, path);
    if (!place) FAIL(place.error());
    put(place->field->kind, made.data() + place->offset, value);
  }
  return made;
}

Entity World::create(const std::string& name, const std::string& component, const Values& values) {
  const TypeDescriptor& type = type_named(registry, component);
  const Entity made = registry.create(name);
  const std::array<const TypeDescriptor*, 1> components{&type};
  const RowSet rows(*registry.types().find(TypeTraits<Set>::id), components);
  BatchBuilder builder;
  std::byte* payload = builder.append_rows(rows, made);
  const std::vector<std::byte> value = bytes(component, values);
  std::memcpy(payload + rows.entries()[0].offset, value.data(), type.tag ? 0 : value.size());
  REQUIRE(registry.host().push_batch(builder.bytes()).refused == 0);
  return made;
}

std::string World::load(const naive::StateRows& rows) {
  naive::RowsSource source(rows);
  auto loaded = registry.load(source);
  if (!loaded) return loaded.error().text();
  report = std::move(*loaded);
  return {};
}

double World::value(const std::string& path, const std::string& component, const std::string& field) const {
  const TypeDescriptor& type = type_named(registry, component);
  const std::byte* found = registry.find(registry.find_path(path), type.id);
  if (!found) FAIL(path << " has no " << component);
  const auto place = registry.types().place(type, field);
  if (!place) FAIL(place.error());
  return get(place->field->kind, found + place->offset);
}

bool World::has(const std::string& path, const std::string& component) const {
  return registry.find(registry.find_path(path), type_named(registry, component).id) != nullptr;
}

}  // namespace layouts
