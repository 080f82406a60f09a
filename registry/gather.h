// Posts of several types that alternate, delivered type by type: long runs in place of many short ones. Allowed where the
// handlers of any two of the types neither conflict (registry/handler.h) nor both push: then every row, every push and
// every count comes out as in push order. Sinks see the batches in push order.
//
//   posted       A1 B1 B2 A2 C1 A3 ...        (batches of few messages)
//   delivered    A1 A2 A3 ... | B1 B2 ... | C1 ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/batch.h"
#include "registry/handler_table.h"
#include "registry/types_known.h"

namespace muster {

class Gather {
 public:
  static constexpr std::size_t types_max = 8;              ///< gathered at once
  static constexpr std::uint32_t messages_max = 8192;      ///< of one window
  static constexpr std::uint32_t batch_messages_max = 16;  ///< a longer batch is a run already
  static constexpr std::size_t least_copy = 32;            ///< bytes; a batch and what follows it in memory are as long
  static constexpr std::size_t batches_min = 16;           ///< a window of fewer is delivered as it is

  struct Bucket {
    MessageRoute* route = nullptr;
    std::uint32_t count = 0, item_bytes = 0, payload_offset = 0;
    std::vector<std::byte> items;  // as in batches; only grows
    std::size_t used = 0;
    ItemRun run() const noexcept { return {items.data(), count, item_bytes, payload_offset}; }
  };

  void clear() noexcept;
  /// Takes a batch of an arena into the window; false where it must not or need not be in it.
  bool add(const BatchView& batch, TypesKnown& types);
  std::size_t batches() const noexcept { return batches_; }
  std::span<const Bucket> buckets() const noexcept { return {buckets_.data(), used_}; }

  /// How many batches are to be delivered, after a window that was too short, before another is looked for.
  std::size_t paused() const noexcept { return pause_; }
  /// So many were; says whether any.
  bool passed(std::size_t batches) noexcept {
    pause_ -= static_cast<std::uint32_t>(batches < pause_ ? batches : pause_);
    return batches != 0;
  }
  void pause() noexcept { pause_ = 64; }

 private:
  Bucket* new_bucket(MessageRoute* route, const BatchHeader& header);
  std::array<Bucket, types_max> buckets_;
  // Where a type's bucket is: one compare, whatever came before. A search would be guessed wrong for types at random.
  struct Place {
    TypeId type = 0;
    std::uint8_t bucket = 0;
  };
  std::array<Place, 64> places_;
  std::size_t used_ = 0, batches_ = 0;
  std::uint32_t messages_ = 0, pause_ = 0;
};

/// Whether the order between messages of the one and of the other type can be told by nobody.
bool apart(const MessageRoute& a, const MessageRoute& b) noexcept;

}  // namespace muster
