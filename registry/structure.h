// What the registry does itself with the messages that change structure: Create, Destroy, Set, Remove, SetField,
// Reparent, Rename, InternText and the grants. Each is applied whole or refused without effect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "messages/batch.h"
#include "registry/hierarchy.h"
#include "registry/names.h"
#include "registry/receipt.h"
#include "registry/storage.h"
#include "registry/text_table.h"
#include "registry/types_known.h"
#include "schema/muster.h"

namespace muster {

/// Messages that say what becomes of one entity. Sent to the world or to a line of entities they are refused.
constexpr bool is_structural(TypeId message) noexcept {
  switch (message) {
    case TypeTraits<Create>::id:
    case TypeTraits<Destroy>::id:
    case TypeTraits<Set>::id:
    case TypeTraits<Remove>::id:
    case TypeTraits<SetField>::id:
    case TypeTraits<SetFieldIf>::id:
    case TypeTraits<Reparent>::id:
    case TypeTraits<Rename>::id:
    case TypeTraits<ComponentChanged>::id: return true;
    default: return false;
  }
}
/// Whether the registry itself acts on this message type.
constexpr bool is_builtin(TypeId message) noexcept {
  switch (message) {
    case TypeTraits<InternText>::id:
    case TypeTraits<Grant>::id:
    case TypeTraits<ReturnGrant>::id:
    case TypeTraits<CancelTimer>::id:
    case TypeTraits<Advance>::id: return true;
    default: return is_structural(message);
  }
}

class Structure {
 public:
  Structure(Storage& storage, TypesKnown& types, TextTable& texts)
      : storage_(storage), types_(types), texts_(texts), hierarchy_(storage) {}

  Hierarchy& hierarchy() noexcept { return hierarchy_; }
  const Hierarchy& hierarchy() const noexcept { return hierarchy_; }
  Names& names() noexcept { return names_; }
  const Names& names() const noexcept { return names_; }

  /// A POD message to one entity; `rows` is the batch's row set. A refusal's code is none where it was applied.
  Refusal apply(TypeId message, Entity target, const std::byte* payload, std::span<const RowSetEntry> rows);
  /// A message to the world: Grant, ReturnGrant. InternText comes as its text.
  void grant(const Grant& grant);
  void return_grant(const ReturnGrant& grant);
  Refusal intern(std::string_view text);

  /// The name of an entity, nil if it has none.
  Text name_of(Entity e) const noexcept;
  /// Rebuilds the index of names after the rows were read back.
  void restore_names();
  /// `e` and all below it in the order of destruction: reverse pre-order, so children go before their parents.
  std::span<const Entity> doomed(Entity e);

 private:
  Refusal create(Entity e, const Create& message, const std::byte* payload, std::span<const RowSetEntry> rows);
  Refusal destroy(Entity e);
  Refusal set(Entity e, const Set& message, const std::byte* payload, std::span<const RowSetEntry> rows);
  Refusal remove(Entity e, const Remove& message);
  Refusal set_field(Entity e, const SetField& message, const std::uint8_t* expected);
  Refusal reparent(Entity e, const Reparent& message);
  Refusal rename(Entity e, const Rename& message);

  /// Which archetype a row set asks for, remembered for the next message.
  struct RowPlan {
    std::vector<RowSetEntry> rows;
    bool named = false;
    Archetype* from = nullptr;  // null for Create
    Archetype* to = nullptr;
    struct Copy {
      std::uint16_t slot;
      std::uint32_t offset, size;
    };
    std::vector<Copy> copies;
    Refusal refusal;
  };
  /// Whether these components can be given. An archetype is made only for a message that is not refused.
  Refusal judge(std::span<const RowSetEntry> rows);
  const RowPlan& plan(std::span<const RowSetEntry> rows, bool named, Archetype* from, RowPlan& remembered);
  void write(Row row, const RowPlan& plan, const std::byte* payload);
  void write_name(Row row, Text name);

  Storage& storage_;
  TypesKnown& types_;
  TextTable& texts_;
  Hierarchy hierarchy_;
  Names names_;
  RowPlan create_plan_, set_plan_;
  std::vector<Entity> subtree_;
  std::vector<TypeId> types_scratch_;
};

}  // namespace muster
