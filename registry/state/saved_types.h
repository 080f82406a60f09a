// The types that saved state was written with, and how each is read by those that are known now.
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

/// While state or a journal is being read. First all schemas are added, in the order they were saved in; then settle(); then types are
/// asked for. More schemas may come then, each followed by settle().
class SavedTypes {
 public:
  /// `table`: what is known. It learns the types that only saved state knows. `conversions`: the game's own; outlives this.
  explicit SavedTypes(TypeTable& table, const Conversions* conversions = nullptr)
      : table_(table), conversions_(conversions) {}

  /// A binary schema as it was saved. Where several declare one type, the first one's layout is the saved one.
  [[nodiscard]] std::expected<void, SchemaError> add(std::span<const std::byte> bfbs);
  /// Makes known what nobody here knows and nobody renamed.
  [[nodiscard]] std::expected<void, SchemaError> settle();

  /// How values of a saved type are read.
  struct Reading {
    const TypeDescriptor* then = nullptr;
    const TypeDescriptor* now = nullptr;
    const LayoutChange* change = nullptr;  ///< null: the bytes are the same, or it is a table
  };
  /// The error says which field cannot be converted, or that the type is in no schema.
  [[nodiscard]] std::expected<Reading, SchemaError> reading(TypeId saved);
  bool is_saved(TypeId id) const noexcept { return then_.contains(id); }
  /// Whether any type has other bytes, another name or other numbers of an enum now.
  bool differs() const noexcept { return differs_; }
  /// Those that state was saved with. Valid until more are added.
  const TypeTable& then();
  const TypeTable& now() const noexcept { return table_; }
  /// "game.Health: armor is new", of each type that reading() was asked for and found changed, by name.
  std::vector<std::string> changes() const;

 private:
  struct Known {
    Reading reading;
    std::optional<LayoutChange> change;
    std::optional<SchemaError> error;
  };
  const TypeDescriptor* saved(TypeId id) const;
  /// The type that has another one's place: of the same name, or with that older name.
  const TypeDescriptor* now(const TypeDescriptor& then) const;
  Known read(TypeId saved) const;
  /// Null: none.
  Conversion conversion(TypeId now) const;
  /// Whether values of it are other bytes now.
  bool differs(const TypeDescriptor& then) const;

  TypeTable& table_;
  const Conversions* const conversions_;  // null: none
  bool differs_ = false;
  std::unique_ptr<TypeTable> then_table_;  // made when it is asked for
  std::deque<Schema> schemas_;
  std::vector<std::vector<std::byte>> bytes_;
  std::map<TypeId, const TypeDescriptor*> then_;
  std::map<TypeId, Known> known_;
  std::map<std::string_view, const TypeDescriptor*> renamed_;  // those that were known before, by their older names
};

}  // namespace muster
