// The component types that a registry stores. These types are shared by all states of the registry:
// the current state and those held outside the registry (registry/apply/registry_state.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/storage/archetype.h"
#include "registry/storage/flat_map.h"
#include "schema/descriptor.h"

namespace muster {

class Storage;

/// Used only on the registry's thread.
class ComponentTypes {
 public:
  ComponentTypes() = default;
  ComponentTypes(const ComponentTypes&) = delete;
  ComponentTypes& operator=(const ComponentTypes&) = delete;
  /// Adds a struct type, which can then be stored. The descriptor must outlive this object.
  const StoredType& add(const TypeDescriptor& descriptor);
  /// Returns the type with this id, or null if it was never added.
  const StoredType* find(TypeId type) const noexcept {
    const std::uint32_t* known = by_id_.find(type);
    return known ? types_[*known].get() : nullptr;
  }
  /// Returns all types in the order in which they were added.
  std::span<const std::unique_ptr<StoredType>> all() const noexcept { return types_; }
  /// Forgets all types except the first `count`. No storage may have an archetype that contains a
  /// forgotten type.
  void take_back(std::size_t count) noexcept;
  /// Turns a type without data into a type with values. The values are default-constructed in all
  /// rows that have the type. If `ops` is null, turns it back into a type without data. In every
  /// storage that shares the types, the chunks of the affected archetypes are laid out again.
  void set_runtime(TypeId type, const RuntimeOps* ops, std::uint32_t size, std::uint32_t align);

 private:
  friend class Storage;
  std::vector<std::unique_ptr<StoredType>> types_;
  std::vector<std::unique_ptr<StoredType>> presences_;
  FlatMap<TypeId, std::uint32_t> by_id_;
  std::vector<Storage*> storages_;  // storages that share the types
};

}  // namespace muster
