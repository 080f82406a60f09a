// Holds messages until the registry's clock reaches their due times. The messages are ordered by
// due time, and then by id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "messages/batch.h"
#include "registry/storage/flat_map.h"

namespace muster {

using TimerId = std::uint64_t;

/// Returns `now_ns` + `ns`, or the greatest possible time if the sum would overflow.
constexpr std::uint64_t later(std::uint64_t now_ns, std::uint64_t ns) noexcept {
  return ns <= ~std::uint64_t{0} - now_ns ? now_ns + ns : ~std::uint64_t{0};
}

/// Once it is warm, adds and removes timers without asking the system for memory. The memory is
/// given back when the last of many timers has left.
class Timers {
 public:
  struct Key {
    std::uint64_t due_ns;
    TimerId id;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Waiting {
    std::span<const std::byte> batch;
    /// Storage::version when the timer was added. Needed because a later timer may reuse an id.
    std::uint64_t version;
  };
  using ByDue = std::pmr::map<Key, Waiting>;
  /// A timer that was added or removed.
  struct Change {
    Key key;
    bool added;
    std::vector<std::byte> batch;  ///< of a removed timer
  };
  /// Appends every change to `log` from now on, or stops doing so if null. `log` must remain valid
  /// until the next call.
  void set_log(std::vector<Change>* log) noexcept { log_ = log; }
  /// Takes back a change. Later changes must already have been taken back. A timer that returns
  /// gets this version.
  void take_back(const Change& change, std::uint64_t version) {
    if (change.added)
      remove(*kept_->by_id.find(change.key.id));
    else
      put(change.key, change.batch, version);
  }
  /// Stores a copy of an entire timed batch under `id`. Returns false and stores nothing if a timer
  /// with that id already exists.
  [[nodiscard]] bool add(TimerId id, const BatchView& timed, std::uint64_t version) {
    if (kept_->by_id.find(id)) return false;
    const Key key{timed.header().argument, id};
    put(key, timed.bytes(), version);
    if (log_) log_->push_back({.key = key, .added = true, .batch = {}});
    return true;
  }
  bool cancel(TimerId id) {
    const auto* const at = kept_->by_id.find(id);
    if (!at) return false;
    note_removal(*at);
    remove(*at);
    return true;
  }
  bool waits(TimerId id) const { return kept_->by_id.find(id); }
  /// Returns the entire timed batch, or an empty span if there is no timer with that id. Valid
  /// until timers change.
  std::span<const std::byte> find(TimerId id) const {
    const auto* const at = kept_->by_id.find(id);
    return at ? (*at)->second.batch : std::span<const std::byte>();
  }
  bool empty() const noexcept { return kept_->waiting.empty(); }
  std::size_t size() const noexcept { return kept_->waiting.size(); }
  /// Returns the due time of the first timer, in nanoseconds. There must be at least one timer.
  std::uint64_t next_due() const noexcept { return kept_->waiting.begin()->first.due_ns; }
  /// Calls take(batch) with the entire batch of the first timer, and then removes the timer.
  template <class F>
  void pop(F take) {
    const auto first = kept_->waiting.begin();
    note_removal(first);
    take(BatchView(first->second.batch));
    remove(first);
  }
  const ByDue& waiting() const noexcept { return kept_->waiting; }

 private:
  struct Kept {
    std::pmr::unsynchronized_pool_resource memory;  // of the map and of all batches
    ByDue waiting{&memory};
    FlatMap<TimerId, ByDue::iterator> by_id;
    std::size_t most = 0;  // largest number of timers so far
  };
  void put(const Key& key, std::span<const std::byte> bytes, std::uint64_t version) {
    auto* const memory = static_cast<std::byte*>(kept_->memory.allocate(bytes.size(), batch_alignment));
    std::memcpy(memory, bytes.data(), bytes.size());
    const auto at = kept_->waiting.emplace(key, Waiting{{memory, bytes.size()}, version}).first;
    kept_->by_id.put(key.id, at);
    kept_->most = std::max(kept_->most, kept_->waiting.size());
  }
  void note_removal(ByDue::const_iterator at) {
    const std::span<const std::byte> batch = at->second.batch;
    if (log_) log_->push_back({.key = at->first, .added = false, .batch = {batch.begin(), batch.end()}});
  }
  void remove(ByDue::iterator at) {
    const std::span<const std::byte> batch = at->second.batch;
    kept_->by_id.erase(at->first.id);
    kept_->waiting.erase(at);
    kept_->memory.deallocate(const_cast<std::byte*>(batch.data()), batch.size(), batch_alignment);
    constexpr std::size_t many = 4096;
    if (kept_->waiting.empty() && kept_->most > many) [[unlikely]]
      kept_ = std::make_unique<Kept>();
  }

  std::vector<Change>* log_ = nullptr;
  std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
};

}  // namespace muster
