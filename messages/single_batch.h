// Defines a complete fixed-size batch that contains one POD message to one entity. Each route has a
// batch of this form (MessageRoute::sealed), and a push writes its target and message into that
// batch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "messages/batch.h"
#include "messages/row_set.h"

namespace muster {

/// A batch with one message. Its bytes are identical to those of a batch that BatchBuilder creates
/// for the same message; a test checks this.
template <MessageType M>
class SingleBatch {
 public:
  SingleBatch(Entity target, const M& message) noexcept {
    std::memcpy(bytes_, &header, sizeof header);
    std::memset(bytes_ + sizeof header, 0, bytes_max - sizeof header);
    set(target, message);
  }
  /// Replaces the target and message.
  void set(Entity target, const M& message) noexcept {
    std::memcpy(bytes_ + sizeof header, &target, sizeof target);
    std::memcpy(bytes_ + sizeof header + offset, &message, sizeof message);
  }
  /// Returns the SingleBatch object whose bytes were copied to `memory`, which must be aligned to
  /// 16.
  static SingleBatch& at(void* memory) noexcept { return *static_cast<SingleBatch*>(memory); }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  void* payload() noexcept { return bytes_ + sizeof header + offset; }

 private:
  static constexpr std::uint32_t offset = payload_offset_for(BatchKind::each, false, alignof(M));
  static constexpr std::uint32_t item = item_bytes_for(offset, sizeof(M), alignof(M));
  static constexpr std::uint32_t bytes_max =
      round_up(static_cast<std::uint32_t>(sizeof(BatchHeader)) + item, batch_alignment);
  static constexpr BatchHeader header{.bytes = bytes_max,
                                      .type = TypeTraits<M>::id,
                                      .kind = BatchKind::each,
                                      .flags = 0,
                                      .header_units = 2,
                                      .payload_offset = offset,
                                      .count = 1,
                                      .payload_bytes = sizeof(M),
                                      .item_bytes = item,
                                      .argument = 0};
  alignas(16) std::byte bytes_[bytes_max];
};

/// A complete batch with one Create or Set message and its components.
template <MessageType M, ComponentType... Cs>
class SingleRows {
 public:
  SingleRows(Entity target, const M& message, const Cs&... components) noexcept {
    std::memcpy(bytes_, head.data(), head_bytes);
    std::memset(bytes_ + head_bytes, 0, bytes_max - head_bytes);
    std::memcpy(bytes_ + head_bytes, &target, sizeof target);
    Rows::put(bytes_ + head_bytes + offset, message, components...);
  }
  /// Replaces the target and the components. The message does not change.
  [[gnu::always_inline]] void set(Entity target, const Cs&... components) noexcept {
    std::memcpy(bytes_ + head_bytes, &target, sizeof target);
    Rows::put_components(bytes_ + head_bytes + offset, components...);
  }
  /// Returns the SingleRows object whose bytes were copied to `memory`, which must be aligned to
  /// 16.
  static SingleRows& at(void* memory) noexcept { return *static_cast<SingleRows*>(memory); }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  using Rows = StaticRowSet<M, Cs...>;
  static constexpr std::uint32_t head_bytes =
      static_cast<std::uint32_t>(sizeof(BatchHeader)) + row_set_bytes(sizeof...(Cs));
  static constexpr std::uint32_t offset = payload_offset_for(BatchKind::each, false, Rows::shape.align);
  static constexpr std::uint32_t item = item_bytes_for(offset, Rows::shape.bytes, Rows::shape.align);
  static constexpr std::uint32_t bytes_max = round_up(head_bytes + item, batch_alignment);
  static constexpr std::array<std::byte, head_bytes> head = [] {
    std::array<std::byte, head_bytes> made{};
    const auto header =
        std::bit_cast<std::array<std::byte, sizeof(BatchHeader)>>(BatchHeader{.bytes = bytes_max,
                                                                              .type = Rows::shape.type,
                                                                              .kind = BatchKind::each,
                                                                              .flags = batch_rows,
                                                                              .header_units = head_bytes / 16,
                                                                              .payload_offset = offset,
                                                                              .count = 1,
                                                                              .payload_bytes = Rows::shape.bytes,
                                                                              .item_bytes = item,
                                                                              .argument = 0});
    std::copy(header.begin(), header.end(), made.begin());
    const auto count = std::bit_cast<std::array<std::byte, 4>>(static_cast<std::uint32_t>(sizeof...(Cs)));
    std::copy(count.begin(), count.end(), made.begin() + sizeof(BatchHeader));
    std::size_t at = sizeof(BatchHeader) + 8;
    for (const RowSetEntry& entry : Rows::entries()) {
      const auto bytes = std::bit_cast<std::array<std::byte, sizeof entry>>(entry);
      std::copy(bytes.begin(), bytes.end(), made.begin() + static_cast<std::ptrdiff_t>(at));
      at += sizeof entry;
    }
    return made;
  }();
  alignas(16) std::byte bytes_[bytes_max];
};

}  // namespace muster
