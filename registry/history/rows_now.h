// Reads what a history needs from a registry, between and during edits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "registry/history/parts.h"
#include "registry/host.h"

namespace muster::history {

class RowsNow {
 public:
  explicit RowsNow(const EntityRegistry& registry) noexcept : registry_(registry), host_(registry.host()) {}

  const Storage& storage() const noexcept { return host_.storage(); }
  const Hierarchy& hierarchy() const noexcept { return host_.hierarchy(); }
  const TypeTable& types() const noexcept { return registry_.types(); }
  bool alive(Entity e) const noexcept { return storage().alive(e); }
  /// Returns the bytes of a component, or no value if the entity does not have it. Tags and runtime
  /// components have no bytes.
  std::optional<std::span<const std::byte>> value(Entity e, TypeId component) const noexcept {
    const Row row = storage().find(e);
    if (!row || !row.has(component)) return {};
    return bytes(row, component);
  }
  static std::span<const std::byte> bytes(Row row, TypeId component) noexcept {
    const Archetype& archetype = *row.chunk->archetype;
    const std::uint16_t column = archetype.column(component);
    if (column >= archetype.pod_slots) return {};
    const std::uint32_t size = archetype.slot_bytes[column];
    return {row.at(column, size), size};
  }
  /// Returns the layout in which values of a component are stored now.
  Layout layout(TypeId component) const noexcept {
    const StoredType* const stored = storage().component(component);
    if (!stored) return {component, 0, 0};
    return {component, stored->saved_size(), stored->descriptor->fingerprint};
  }
  std::string_view text(Text text) const noexcept { return host_.texts().find(text); }
  bool knows(Text text) const noexcept { return host_.texts().knows(text); }
  std::string_view name(Entity e) const noexcept { return text(hierarchy().name(e)); }
  std::string path(Entity e) const { return registry_.path(e); }
  Entity child(Entity parent, std::string_view name) const noexcept { return registry_.find_child(parent, name); }
  Entity previous(Entity e) const noexcept { return entity(hierarchy().previous(e)); }
  Entity last_child(Entity e) const noexcept { return entity(hierarchy().last_child(e)); }
  Place place(Entity e) const noexcept { return {hierarchy().parent(e), hierarchy().next_sibling(e), previous(e)}; }
  /// Returns the DefineTemplate table of a template, or an empty span.
  std::span<const std::byte> definition(std::string_view name) const {
    const std::span<const std::byte> batch = host_.template_batch(name);
    if (batch.empty()) return {};
    const BatchView view(batch);
    return table_item(view, view.body()).table;
  }
  const RegistryReader& host() const noexcept { return host_; }

 private:
  Entity entity(std::uint32_t index) const noexcept {
    return index ? Entity{index, storage().ids().slot(index).generation} : Entity{};
  }

  const EntityRegistry& registry_;
  RegistryReader host_;
};

}  // namespace muster::history
