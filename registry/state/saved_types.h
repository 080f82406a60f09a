// The types with which a state was saved, and how their values are read as values of the current
// types.
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

/// Used while a state or a journal is being read. First, all schemas must be added in the order in
/// which they were saved. Then, settle() must be called. After that, types can be looked up. More
/// schemas may be added later, each followed by another call to settle().
class SavedTypes {
 public:
  /// `table` contains the current types. Saved types that it does not contain are added to it.
  /// `conversions` are the game's own and must outlive this object.
  explicit SavedTypes(TypeTable& table, const Conversions* conversions = nullptr)
      : table_(table), conversions_(conversions) {}

  /// Adds a binary schema in its saved form. If several schemas declare a type, the layout in the
  /// first one is the saved layout.
  [[nodiscard]] std::expected<void, SchemaError> add(std::span<const std::byte> bfbs);
  /// Adds those saved types that are neither known nor renamed to the table.
  [[nodiscard]] std::expected<void, SchemaError> settle();

  /// Describes how the values of a saved type are read.
  struct Reading {
    const TypeDescriptor* then = nullptr;
    const TypeDescriptor* now = nullptr;
    const LayoutChange* change = nullptr;  ///< null for a table, or if the bytes are unchanged
  };
  /// Returns how the values of a saved type are read. An error names the field that cannot be
  /// converted, or states that no schema contains the type.
  [[nodiscard]] std::expected<Reading, SchemaError> reading(TypeId saved);
  bool is_saved(TypeId id) const noexcept { return then_.contains(id); }
  /// True if any type's byte layout, name, or enum values have changed.
  bool differs() const noexcept { return differs_; }
  /// Returns the types with which the state was saved. Valid until more types are added.
  const TypeTable& then();
  const TypeTable& now() const noexcept { return table_; }
  /// Returns lines such as "game.Health: armor is new", one for each changed type for which
  /// reading() has been called, sorted by name.
  std::vector<std::string> changes() const;

 private:
  struct Known {
    Reading reading;
    std::optional<LayoutChange> change;
    std::optional<SchemaError> error;
  };
  const TypeDescriptor* saved(TypeId id) const;
  /// Returns the current type that replaces a saved one, which is the type with the same name or
  /// the type whose `was` attribute names it.
  const TypeDescriptor* now(const TypeDescriptor& then) const;
  Known read(TypeId saved) const;
  /// Returns the game's own conversion for a type, or null if there is none.
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
  // Known types that have been renamed, keyed by their older names.
  std::map<std::string_view, const TypeDescriptor*> renamed_;
};

}  // namespace muster
