// Posts of several types that alternate, delivered type by type: long runs in place of many short ones. Allowed where the
// handlers of any two of the types neither conflict (registry/handlers/handler.h) nor both push: then every row, every push and
// every count comes out as in push order. Sinks see the batches in push order.
//
//   posted       A1 B1 B2 A2 C1 A3 ...        (batches of few messages)
//   delivered    A1 A2 A3 ... | B1 B2 ... | C1 ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "messages/batch.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/types_known.h"

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
    std::uint32_t item_bytes = 0, payload_offset = 0;
    std::vector<std::byte> items;  // as in batches; only grows
    std::byte* to = nullptr;       // where the next ones go
    std::byte* limit = nullptr;    // that must not lie behind it
    std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(to - items.data()) / item_bytes; }
    ItemRun run() const noexcept { return {items.data(), count(), item_bytes, payload_offset}; }
  };

  void clear() noexcept;
  /// Takes a batch of an arena into the window; false where it must not or need not be in it.
  [[gnu::always_inline]] bool add(const BatchView& batch, TypesKnown& types) {
    const BatchHeader& header = batch.header();
    std::uint16_t kind_and_flags;
    std::memcpy(&kind_and_flags, &header.kind, sizeof kind_and_flags);
    const std::uint32_t count = header.count, messages = messages_ + count;
    if (kind_and_flags != plain || count > batch_messages_max || messages > messages_max) return false;
    const Place place = places_[header.type % places_.size()];
    Bucket* bucket = place.bucket;
    if (place.type != header.type) [[unlikely]]
      if (bucket = new_bucket(types.route(header.type), header); !bucket) return false;
    const std::size_t bytes = std::size_t{count} * bucket->item_bytes;
    std::byte* to = bucket->to;
    if (static_cast<std::size_t>(bucket->limit - to) < bytes) [[unlikely]]
      to = make_room(*bucket, bytes);
    const std::byte* const from = reinterpret_cast<const std::byte*>(&header + 1);
    // Behind an arena's batch there is room to read. One or two messages at random would be guessed wrong.
    std::memcpy(to, from, least_copy);
    if (bytes > least_copy) [[unlikely]]
      std::memcpy(to + least_copy, from + least_copy, bytes - least_copy);
    bucket->to = to + bytes;
    messages_ = messages;
    ++batches_;
    return true;
  }
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
  static constexpr std::uint16_t plain = static_cast<std::uint16_t>(BatchKind::each);  // a header's kind and flags
  Bucket* new_bucket(MessageRoute* route, const BatchHeader& header);
  static std::byte* make_room(Bucket& bucket, std::size_t bytes);
  std::array<Bucket, types_max> buckets_;
  // Where a type's bucket is: one compare, whatever came before. A search would be guessed wrong for types at random.
  struct Place {
    TypeId type = 0;
    Bucket* bucket = nullptr;
  };
  std::array<Place, 64> places_;
  std::size_t used_ = 0, batches_ = 0;
  std::uint32_t messages_ = 0, pause_ = 0;
};

/// Whether the order between messages of the one and of the other type can be told by nobody.
bool apart(const MessageRoute& a, const MessageRoute& b) noexcept;

}  // namespace muster
