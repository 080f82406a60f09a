// The ids of moments. A copy of the directory and of the queue of free indices shows them as they
// were at the newest moment. When the next moment is kept, the pages that have changed since are
// compared with the copy, and the older moment gets the entries that differ.
//
//   directory now      | page | page | page |         changed pages have a version later than the moment
//   copy of newest     | page | page | page |         places of rows are left out
//   older moments        entries that differ from the moment after it
//
// The directory itself has no hook, because ids are issued on the shortest paths. The places of
// rows are found in the columns of ids when these return.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/storage/directory.h"
#include "registry/storage/ring_queue.h"
#include "registry/storage/storage.h"

namespace muster {

/// The part of a moment that concerns ids.
struct IdMoment {
  struct Change {
    std::uint32_t index;
    DirectoryEntry was;
  };
  std::uint64_t first_free = 0, end_free = 0;  ///< numbers of the queue's values; see RingQueue
  std::size_t indices = 0;
  std::uint64_t retired = 0;
  std::shared_ptr<const ReturnedIds> returned;
  /// The entries that were different at the next moment. Empty for the newest moment.
  std::vector<Change> changes;
};

class IdMoments {
 public:
  explicit IdMoments(Storage& storage) noexcept : storage_(storage) {}
  /// Prepares for the first moment: copies all ids.
  void begin();
  /// Keeps the ids for a new moment. `newest` is the moment before it, which gets its changes; null
  /// if there is none.
  void keep(IdMoment& moment, IdMoment* newest);
  /// Must be called with the result of Storage::begin_version() after a moment was kept or returned
  /// to.
  void set_version(std::uint64_t version) noexcept { version_ = version; }
  /// Forgets everything that only moments before `oldest` need.
  void forget_before(const IdMoment& oldest);
  /// Forgets everything.
  void clear();

  // --- returning, in this order ---

  /// Finds the ids that have changed since the first of `moments`, which are consecutive and end
  /// with the newest.
  void find(std::span<IdMoment* const> moments);
  /// Returns the entities that are alive and did not exist at the moment.
  const std::vector<Entity>& gone() const noexcept { return gone_; }
  /// Restores the ids. Entities that were alive at the moment get their generations; the caller
  /// must then place those whose rows return.
  void put(const IdMoment& moment);

  /// Returns the number of bytes of the copies.
  std::size_t bytes() const noexcept;

 private:
  static DirectoryEntry without_place(DirectoryEntry entry) noexcept {
    if (entry.locator.has_row()) entry.locator = Locator(0, 0);
    return entry;
  }
  static bool same(DirectoryEntry a, DirectoryEntry b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  /// Calls f(index, entry now, entry in the copy) for the entries that differ. Of indices that are
  /// not in the copy, only their number is known.
  template <class F>
  void each_changed(F f) const;
  Storage& storage_;
  std::uint64_t version_ = 0;
  std::vector<DirectoryEntry> entries_;
  RingQueue<std::uint32_t> free_;  // the values that any moment may need
  std::uint64_t free_first_ = 0;   // the number of its first value
  std::shared_ptr<const ReturnedIds> returned_;
  std::vector<std::uint32_t> changed_;
  std::vector<Entity> gone_;
};

}  // namespace muster
