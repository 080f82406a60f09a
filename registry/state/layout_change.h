// Converts values from an older layout of a type to the current one, field by field, based on
// names.
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

/// Created once for each type and applied to each of its values. The descriptors must outlive this
/// object.
///
/// A field keeps its value if both layouts have a field with the same name, or if the `was`
/// attribute of the newer field names the older one. New fields receive their default values,
/// removed fields are dropped, and the order of fields does not matter. Numbers may become wider,
/// provided that the new kind represents every old value exactly. Arrays may become longer or
/// shorter, and enum values are matched by name.
class LayoutChange {
 public:
  using Find = std::function<const TypeDescriptor*(TypeId)>;

  /// Compares two layouts, which must both be structs. `find_then` and `find_now` return the
  /// structs that are nested in them. An error names the field that cannot be converted, using its
  /// name in the newer layout if the field exists there. If the game has its own `conversion`, it
  /// is called for each value afterward; a field that cannot be converted then has its default
  /// value and is not an error.
  [[nodiscard]] static std::expected<LayoutChange, SchemaError> between(const TypeDescriptor& then,
                                                                        const Find& find_then,
                                                                        const TypeDescriptor& now, const Find& find_now,
                                                                        Conversion conversion = nullptr);

  /// Converts `then`, a value in the older layout, to `now`. The two must not overlap.
  void apply(std::span<const std::byte> then, std::span<std::byte> now) const;
  /// Like apply(), without the game's own conversion.
  void apply_rules(std::span<const std::byte> then, std::span<std::byte> now) const;
  bool has_conversion() const noexcept { return conversion_ != nullptr; }
  /// Converts the offset of a number or reference from the older layout to the newer one. Returns
  /// no value if the number or reference was removed.
  std::optional<std::uint32_t> place(std::uint32_t then_offset) const;
  /// Finds the numbers and references of the older layout that overlap these bytes. For each of
  /// them that is converted, calls `take(offset, bytes)` with its place in the newer layout.
  template <class Take>
  void each_move(std::uint32_t then_offset, std::uint32_t then_bytes, Take&& take) const {
    for (const Move& one : moves_)
      if (one.then < then_offset + then_bytes && then_offset < one.then + one.then_bytes) take(one.now, one.now_bytes);
  }
  /// Returns a description for users, such as "armor is new, shield is gone".
  const std::string& text() const noexcept { return text_; }
  const TypeDescriptor& now() const noexcept { return *now_; }
  /// True if the numbers of an enum's values have changed. The fingerprint of the layout does not
  /// reflect such changes.
  bool renumbers() const noexcept {
    return std::ranges::any_of(moves_, [](const Move& one) { return one.then_enum != nullptr; });
  }

 private:
  class Comparison;
  /// A number, or bytes that are copied without conversion.
  struct Move {
    FieldKind then_kind, now_kind;
    std::uint32_t then, now;  // offsets
    std::uint32_t then_bytes, now_bytes;
    // Set if enum values are matched by name.
    const EnumDescriptor *then_enum = nullptr, *now_enum = nullptr;
  };
  static void move(const Move& move, const std::byte* then, std::byte* now);

  const TypeDescriptor *then_ = nullptr, *now_ = nullptr;
  Find find_then_;
  Conversion conversion_ = nullptr;  // may be null
  std::vector<Move> moves_;
  std::string text_;
};

/// Returns the field with this name, or null.
[[nodiscard]] const FieldDescriptor* field_named(const TypeDescriptor& type, const std::string& name);

/// Returns no value if a table of the older layout can be read as one of the newer layout according
/// to the rules of FlatBuffers: fields with the same name have the same place and kind, the same is
/// true in nested structs and tables, and enums have the same numbers. Otherwise, returns an error
/// that names the field that differs.
[[nodiscard]] std::optional<SchemaError> table_change(const TypeDescriptor& then, const LayoutChange::Find& find_then,
                                                      const TypeDescriptor& now, const LayoutChange::Find& find_now);

/// True if the values of an enum must be matched by name because some of their numbers have
/// changed. Pass null for a type that is not an enum.
[[nodiscard]] bool names_decide(const EnumDescriptor* then, const EnumDescriptor* now);

}  // namespace muster
