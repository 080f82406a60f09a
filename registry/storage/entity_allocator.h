// Issues ids and takes them back. An id consists of an index and a generation, and indices are
// recycled through a FIFO with a minimum size. The method is described in Bitsquid's "Building a
// Data-Oriented Entity System", part 1. A Layout defines the widths of the two parts, and what
// happens when a generation would wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "messages/require.h"
#include "registry/storage/growing_array.h"
#include "registry/storage/ring_queue.h"

namespace muster {

enum class OnWrap : std::uint8_t { reuse, retire };

/// A Layout has:
///   Id                       the id type;  static Id make(index, generation);  static index(Id), generation(Id)
///   Slot                     data per index; static generation(const Slot&), set_generation(Slot&, g)
///   index_count              limit on indices;  generation_last  the largest generation
///   first_generation         of a fresh index;  first_index  1 if index 0 is reserved for nil, else 0
///   minimum_free             indices are reused only while the FIFO contains more than this number
///   on_wrap                  whether an index out of generations starts over or is retired
template <class Layout>
class EntityAllocator {
 public:
  using Id = typename Layout::Id;
  using Slot = typename Layout::Slot;

  EntityAllocator() { slots_.append(Layout::first_index, Slot{}); }

  /// Returns the id that create() would return.
  Id peek() const noexcept {
    if (free_.size() > Layout::minimum_free)
      return Layout::make(free_.front(), Layout::generation(slots_[free_.front()]));
    return Layout::make(static_cast<std::uint32_t>(slots_.size()), Layout::first_generation);
  }
  /// Issues a new id. Stops the program if there are no indices left.
  Id create() {
    if (free_.size() > Layout::minimum_free) {
      const std::uint32_t index = free_.front();
      free_.pop_front();
      return Layout::make(index, Layout::generation(slots_[index]));
    }
    return create_fresh();
  }
  /// Issues a new id with an index that was never used.
  Id create_fresh() {
    require(slots_.size() < Layout::index_count, "entity ids: all indices are in use");
    const auto index = static_cast<std::uint32_t>(slots_.size());
    Layout::set_generation(slots_.push_back(Slot{}), Layout::first_generation);
    return Layout::make(index, Layout::first_generation);
  }
  /// Issues `count` consecutive indices that were never used, and returns the first one.
  std::uint32_t extend(std::uint32_t count) {
    require(slots_.size() + count <= Layout::index_count, "entity ids: all indices are in use");
    const auto first = static_cast<std::uint32_t>(slots_.size());
    Slot fresh{};
    Layout::set_generation(fresh, Layout::first_generation);
    slots_.append(count, fresh);
    return first;
  }
  /// True if the slot has the same generation as the id. Reads a single array element. If
  /// generations begin at 1, generation 0 marks the nil index and retired indices.
  bool current(Id id) const noexcept {
    const std::uint32_t index = Layout::index(id);
    if (Layout::first_generation > 0 && Layout::generation(id) == 0) return false;
    return index < slots_.size() && Layout::generation(slots_[index]) == Layout::generation(id);
  }
  /// Takes back an id. Its index is appended to the FIFO with the next generation, or is retired.
  /// Returns false and has no effect if the id is not current.
  bool release(Id id) {
    if (!current(id)) return false;
    release_current(Layout::index(id));
    return true;
  }
  /// Takes back the current id of an index.
  void release_current(std::uint32_t index) {
    const std::uint32_t generation = Layout::generation(slots_[index]);
    if (generation == Layout::generation_last) [[unlikely]] {
      if constexpr (Layout::on_wrap == OnWrap::retire) return retire(index);
      Layout::set_generation(slots_[index], Layout::first_generation);
    } else {
      Layout::set_generation(slots_[index], generation + 1);
    }
    free_.push_back(index);
  }
  /// Appends the indices of `ids` to the FIFO, in order. The caller must already have incremented
  /// their generations, and none of these may have wrapped around.
  void give_back(std::span<const Id> ids) {
    free_.append(ids.size(), [&](std::size_t i) { return Layout::index(ids[i]); });
  }
  /// Appends to the FIFO an index that was granted and then returned without having been used.
  void give_back(std::uint32_t index) { free_.push_back(index); }

  std::size_t indices() const noexcept { return slots_.size(); }
  std::uint64_t retired() const noexcept { return retired_; }
  const Slot& slot(std::uint32_t index) const noexcept { return slots_[index]; }
  Slot& slot(std::uint32_t index) noexcept { return slots_[index]; }
  const Slot* slots() const noexcept { return slots_.data(); }
  Slot* slots() noexcept { return slots_.data(); }
  /// Returns the number of ids that create() takes from the queue before it starts using new
  /// indices.
  std::size_t recyclable() const noexcept {
    return free_.size() > Layout::minimum_free ? free_.size() - Layout::minimum_free : 0;
  }
  /// Removes `count` indices from the queue, as `count` calls to create() would. The caller must
  /// already have read the indices.
  void take_recycled(std::size_t count) noexcept { free_.pop_front(count); }
  /// Takes back the most recently issued ids: those with the last `recycled` indices from the
  /// queue, and those with the last `fresh` new indices. None of these may have been released
  /// since.
  void undraw(std::size_t recycled, std::size_t fresh) noexcept {
    free_.unpop_front(recycled);
    slots_.drop_last(fresh);
  }
  const Slot* slots_end() const noexcept { return slots_.end(); }
  const RingQueue<std::uint32_t>& free_queue() const noexcept { return free_; }
  /// Returns to an earlier state. The entries of the remaining indices must be restored by the
  /// caller. See RingQueue::rewind for `first_free`, `end_free`, and `value`.
  template <class F>
  void rewind(std::size_t indices, std::uint64_t first_free, std::uint64_t end_free, std::uint64_t retired, F value) {
    slots_.drop_last(slots_.size() - indices);
    free_.rewind(first_free, end_free, value);
    retired_ = retired;
  }
  /// Restores a saved state.
  void restore(GrowingArray<Slot> slots, RingQueue<std::uint32_t> free, std::uint64_t retired) {
    slots_ = std::move(slots);
    free_ = std::move(free);
    retired_ = retired;
  }

 private:
  void retire(std::uint32_t index) {
    Layout::set_generation(slots_[index], 0);
    ++retired_;
  }
  GrowingArray<Slot> slots_;
  RingQueue<std::uint32_t> free_;
  std::uint64_t retired_ = 0;
};

/// Bitsquid's own layout, with a 22-bit index and an 8-bit generation, so that an id fits into a
/// light userdata of 32-bit Lua.
struct BitsquidLayout {
  using Id = std::uint32_t;
  using Slot = std::uint8_t;
  static constexpr std::uint64_t index_count = 1u << 22;
  static constexpr std::uint32_t generation_last = 255, first_generation = 0, first_index = 0, minimum_free = 1024;
  static constexpr OnWrap on_wrap = OnWrap::reuse;
  static constexpr Id make(std::uint32_t index, std::uint32_t generation) noexcept { return generation << 22 | index; }
  static constexpr std::uint32_t index(Id id) noexcept { return id & (index_count - 1); }
  static constexpr std::uint32_t generation(Id id) noexcept { return id >> 22 & 255; }
  static constexpr std::uint32_t generation(const Slot& slot) noexcept { return slot; }
  static constexpr void set_generation(Slot& slot, std::uint32_t g) noexcept { slot = static_cast<Slot>(g); }
};

}  // namespace muster
