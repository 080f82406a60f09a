// The types that state was saved with, and how their values are read as the current types.
#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/type_table.h"
#include "registry/state/layout_change.h"

namespace muster {

/// Used while state or a journal is read. First all schemas are added in the order in which they
/// were saved, then settle() is called, then types are looked up. More schemas may follow, each
/// with another settle().
class SavedTypes {
 public:
  /// `table` holds the current types; saved types that it lacks are added to it. `conversions` are
  /// the game's own and must outlive this object.
  explicit SavedTypes(TypeTable& table, const Conversions* conversions = nullptr)
      : table_(table), conversions_(conversions) {}

  /// Adds a binary schema as it was saved. If several declare one type, the first one's layout is
  /// the saved one.
  [[nodiscard]] std::expected<void, SchemaError> add(std::span<const std::byte> bfbs);
  /// Adds the saved types that are neither known nor renamed.
  [[nodiscard]] std::expected<void, SchemaError> settle();

  /// Describes how values of a saved type are read.
  struct Reading {
    const TypeDescriptor* then = nullptr;
    const TypeDescriptor* now = nullptr;
    const LayoutChange* change = nullptr;  ///< null if the bytes are unchanged, or for a table
  };
  /// Returns how values of a saved type are read. An error names the field that cannot be
  /// converted, or says that the type is in no schema.
  [[nodiscard]] std::expected<Reading, SchemaError> reading(TypeId saved);
  bool is_saved(TypeId id) const noexcept { return then_.contains(id); }
  /// True if any type's byte layout, name or enum values have changed.
  bool differs() const noexcept { return differs_; }
  /// The types that state was saved with. Valid until more are added.
  const TypeTable& then();
  const TypeTable& now() const noexcept { return table_; }
  /// Lines such as "game.Health: armor is new" for each changed type that reading() was called for,
  /// sorted by name.
  std::vector<std::string> changes() const;

 private:
  struct Known {
    Reading reading;
    std::optional<LayoutChange> change;
    std::optional<SchemaError> error;
  };
  const TypeDescriptor* saved(TypeId id) const;
  /// Returns the current type that replaces a saved one: the type with the same name, or the type
  /// whose `was` names it.
  const TypeDescriptor* now(const TypeDescriptor& then) const;
  Known read(TypeId saved) const;
  /// Null if there is none.
  Conversion conversion(TypeId now) const;
  /// True if the byte layout of the type's values has changed.
  bool differs(const TypeDescriptor& then) const;

  TypeTable& table_;
  const Conversions* const conversions_;  // may be null
  bool differs_ = false;
  std::unique_ptr<TypeTable> then_table_;  // made on first use
  std::deque<Schema> schemas_;
  std::vector<std::vector<std::byte>> bytes_;
  std::map<TypeId, const TypeDescriptor*> then_;
  std::map<TypeId, Known> known_;
  // Known types that were renamed, by their older names.
  std::map<std::string_view, const TypeDescriptor*> renamed_;
};

}  // namespace muster
