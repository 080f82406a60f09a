// How a value of an older layout of a type becomes one of the layout that is known now: field by field, by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/state/conversion.h"
#include "schema/descriptor.h"
#include "schema/load.h"

namespace muster {

/// Made once per type, applied to each value. The descriptors it was made from must live as long.
///
/// A field keeps its value where both layouts have one of its name, or the newer one's `was` names the older. New fields get their
/// defaults, fields that are gone are dropped, order does not matter. Numbers may become wider (every value of the old kind has an
/// exact one of the new); arrays may be longer or shorter; values of enums are found again by their names.
class LayoutChange {
 public:
  using Find = std::function<const TypeDescriptor*(TypeId)>;

  /// Both are structs. `find_then` and `find_now` give the structs nested in them. The error names the field of the newer layout, or
  /// of the older where that has no place, that cannot be converted. With a `conversion` of the game's own, which is called for each
  /// value after that, such a field has its default and is no error.
  [[nodiscard]] static std::expected<LayoutChange, SchemaError> between(const TypeDescriptor& then,
                                                                        const Find& find_then,
                                                                        const TypeDescriptor& now, const Find& find_now,
                                                                        Conversion conversion = nullptr);

  /// `then`: one value of the older layout, `now`: room for one of the newer. They do not overlap.
  void apply(std::span<const std::byte> then, std::span<std::byte> now) const;
  /// The same without the game's own conversion.
  void apply_rules(std::span<const std::byte> then, std::span<std::byte> now) const;
  bool has_conversion() const noexcept { return conversion_ != nullptr; }
  /// Where the number or reference at an offset of the older layout is in the newer; none where it is gone.
  std::optional<std::uint32_t> place(std::uint32_t then_offset) const;
  /// `take(offset, bytes)` for each number or reference of the newer layout that comes from one which these bytes of the older touch.
  template <class Take>
  void each_move(std::uint32_t then_offset, std::uint32_t then_bytes, Take&& take) const {
    for (const Move& one : moves_)
      if (one.then < then_offset + then_bytes && then_offset < one.then + one.then_bytes) take(one.now, one.now_bytes);
  }
  /// What people are told: "armor is new, shield is gone".
  const std::string& text() const noexcept { return text_; }
  const TypeDescriptor& now() const noexcept { return *now_; }
  /// Whether an enum's values have other numbers, which the layout's fingerprint does not show.
  bool renumbers() const noexcept {
    return std::ranges::any_of(moves_, [](const Move& one) { return one.then_enum != nullptr; });
  }

 private:
  class Comparison;
  /// One number, or bytes that stay as they are.
  struct Move {
    FieldKind then_kind, now_kind;
    std::uint32_t then, now;  // offsets
    std::uint32_t then_bytes, now_bytes;
    const EnumDescriptor *then_enum = nullptr, *now_enum = nullptr;  // where names decide
  };
  static void move(const Move& move, const std::byte* then, std::byte* now);

  const TypeDescriptor *then_ = nullptr, *now_ = nullptr;
  Find find_then_;
  Conversion conversion_ = nullptr;  // null: none
  std::vector<Move> moves_;
  std::string text_;
};

/// Returns the field of that name, or null.
[[nodiscard]] const FieldDescriptor* field_named(const TypeDescriptor& type, const std::string& name);

/// Null where a table of the older layout can be read as one of the newer, as FlatBuffers has it: fields of one name are in one place
/// and of one kind, structs and tables that it holds are too, enums have their numbers. Otherwise the field that is not.
[[nodiscard]] std::optional<SchemaError> table_change(const TypeDescriptor& then, const LayoutChange::Find& find_then,
                                                      const TypeDescriptor& now, const LayoutChange::Find& find_now);

/// Whether values of an enum are to be found again by their names, because some have other numbers; null: none.
[[nodiscard]] bool names_decide(const EnumDescriptor* then, const EnumDescriptor* now);

}  // namespace muster
