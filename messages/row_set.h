// Row sets describe the components that follow a Create or Set message, and their positions in its
// payload. A single rule determines the layout, whether the set is known at compile time or created
// at run time:
//
//   payload  | message struct | pad | component | pad | component ...
//
// Components are in ascending order of type id, and each is at the next offset that its alignment
// allows. Therefore, equal sets have equal bytes, and the verifier can refuse any other layout.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "messages/batch.h"

namespace muster {

/// The message type, size, and alignment of a payload, including its components if the batch has
/// rows.
struct PayloadShape {
  TypeId type = 0;
  std::uint32_t bytes = 0;
  std::uint32_t align = 8;  ///< 1..16

  static PayloadShape of(const TypeDescriptor& type) noexcept { return {type.id, type.size, type.align}; }
  template <MessageType M>
  static constexpr PayloadShape of() noexcept {
    return {TypeTraits<M>::id, sizeof(M), alignof(M)};
  }
};

/// Limit on the number of components in a row set. The limit follows from the one-byte size of
/// header_units.
constexpr std::uint32_t row_set_components_max = (255 * 16 - sizeof(BatchHeader) - 8) / 8;

/// A row set created at run time. The row set owns its entries, and can be stored and reused.
class RowSet {
 public:
  RowSet() = default;
  /// `components` may be in any order. Duplicate types, or more than row_set_components_max types,
  /// stop the program.
  RowSet(PayloadShape message, std::span<const PayloadShape> components);
  RowSet(const TypeDescriptor& message, std::span<const TypeDescriptor* const> components);

  /// Returns the message type, and the size and alignment of the whole payload.
  PayloadShape shape() const noexcept { return shape_; }
  /// Returns the entries in ascending order of type id.
  std::span<const RowSetEntry> entries() const noexcept { return entries_; }
  /// Returns the offset of a component's value in the payload, or `shape().bytes` if the component
  /// is not in the set.
  std::uint32_t offset(TypeId component) const noexcept;

 private:
  PayloadShape shape_;
  std::vector<RowSetEntry> entries_;
};

namespace detail {
template <std::size_t Count>
struct RowSetLayout {
  std::array<RowSetEntry, Count> entries{};    // in ascending order of type id
  std::array<std::uint32_t, Count> offsets{};  // in the order of the template arguments
  std::uint32_t bytes = 0;
  bool unique = true;
};
template <std::size_t Count>
constexpr RowSetLayout<Count> row_set_layout(std::uint32_t message_bytes,
                                             const std::array<PayloadShape, Count>& shapes) {
  RowSetLayout<Count> made;
  made.bytes = message_bytes;
  std::array<std::size_t, Count> order{};
  for (std::size_t i = 0; i < Count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shapes[a].type < shapes[b].type; });
  for (std::size_t i = 0; i < Count; ++i) {
    const PayloadShape& shape = shapes[order[i]];
    const std::uint32_t at = round_up(made.bytes, shape.align);
    made.entries[i] = {shape.type, at};
    made.offsets[order[i]] = at;
    made.bytes = at + shape.bytes;
    if (i > 0 && made.entries[i - 1].type == shape.type) made.unique = false;
  }
  return made;
}
}  // namespace detail

/// A component type whose values never leave the process (registry/storage/runtime_type.h).
template <class C>
concept ValueStays = requires { TypeTraits<C>::runtime; };

/// A row set whose types are known at compile time. All of its members are constants.
template <MessageType M, ComponentType... Cs>
struct StaticRowSet {
  static constexpr std::size_t count = sizeof...(Cs);
  static_assert(count <= row_set_components_max);
  static_assert((!ValueStays<Cs> && ...), "the value of a runtime component is never sent; pass Has<T>{} instead");
  static constexpr detail::RowSetLayout<count> layout = detail::row_set_layout<count>(
      sizeof(M), std::array<PayloadShape, count>{PayloadShape{TypeTraits<Cs>::id, sizeof(Cs), alignof(Cs)}...});
  static_assert(layout.unique, "a component is named twice");

  /// The message type, and the size and alignment of the whole payload.
  static constexpr PayloadShape shape{TypeTraits<M>::id, layout.bytes,
                                      std::max({std::uint32_t{alignof(M)}, std::uint32_t{alignof(Cs)}...})};
  /// Returns the entries in ascending order of type id.
  static constexpr std::span<const RowSetEntry> entries() noexcept { return layout.entries; }

  /// Writes the message, the components, and zero padding to `payload`.
  static void put(std::byte* payload, const M& message, const Cs&... components) noexcept {
    std::memset(payload, 0, layout.bytes);  // the size is constant, so the compiler skips bytes
                                            // that are overwritten below
    std::memcpy(payload, &message, sizeof(M));
    put_components(payload, components...);
  }
  /// Overwrites the components' values in a payload that was written by put().
  static void put_components([[maybe_unused]] std::byte* payload, const Cs&... components) noexcept {
    [[maybe_unused]] std::size_t i = 0;
    (std::memcpy(payload + layout.offsets[i++], &components, sizeof(Cs)), ...);
  }
};

}  // namespace muster
