// One POD message to one entity as a whole batch on the stack: what a push seals for the sinks.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "messages/batch.h"

namespace muster {

/// The bytes are those that a BatchBuilder makes of the same message (tested).
template <MessageType M>
class SingleBatch {
 public:
  SingleBatch(Entity target, const M& message) noexcept {
    std::memcpy(bytes_, &header, sizeof header);
    std::memset(bytes_ + sizeof header, 0,
                bytes_max - sizeof header);  // constant size: stores of what is not overwritten
    std::memcpy(bytes_ + sizeof header, &target, sizeof target);
    std::memcpy(bytes_ + sizeof header + offset, &message, sizeof message);
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

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

}  // namespace muster
