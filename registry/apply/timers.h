// Holds messages until the registry's clock reaches their due times. The messages are ordered by
// due time, and then by id.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "messages/batch.h"

namespace muster {

using TimerId = std::uint64_t;

/// Returns `now_ns` + `ns`, or the greatest possible time if the sum would overflow.
constexpr std::uint64_t later(std::uint64_t now_ns, std::uint64_t ns) noexcept {
  return ns <= ~std::uint64_t{0} - now_ns ? now_ns + ns : ~std::uint64_t{0};
}

class Timers {
 public:
  struct Key {
    std::uint64_t due_ns;
    TimerId id;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Waiting {
    std::vector<std::byte> batch;
    /// Storage::version when the timer was added. Needed because a later timer may reuse an id.
    std::uint64_t version;
  };
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
    if (change.added) {
      waiting_.erase(change.key);
      due_by_id_.erase(change.key.id);
    } else {
      waiting_.emplace(change.key, Waiting{change.batch, version});
      due_by_id_.emplace(change.key.id, change.key.due_ns);
    }
  }
  /// Stores a copy of an entire timed batch under `id`. Returns false and stores nothing if a timer
  /// with that id already exists.
  [[nodiscard]] bool add(TimerId id, const BatchView& timed, std::uint64_t version) {
    const Key key{timed.header().argument, id};
    if (!due_by_id_.emplace(id, key.due_ns).second) return false;
    const auto bytes = timed.bytes();
    waiting_.emplace(key, Waiting{{bytes.begin(), bytes.end()}, version});
    if (log_) log_->push_back({.key = key, .added = true, .batch = {}});
    return true;
  }
  bool cancel(TimerId id) {
    const auto at = due_by_id_.find(id);
    if (at == due_by_id_.end()) return false;
    const auto waits = waiting_.find({at->second, id});
    if (log_) log_->push_back({.key = waits->first, .added = false, .batch = std::move(waits->second.batch)});
    waiting_.erase(waits);
    due_by_id_.erase(at);
    return true;
  }
  bool waits(TimerId id) const { return due_by_id_.contains(id); }
  /// Returns the entire timed batch, or an empty span if there is no timer with that id. Valid
  /// until timers change.
  std::span<const std::byte> find(TimerId id) const {
    const auto at = due_by_id_.find(id);
    return at == due_by_id_.end() ? std::span<const std::byte>() : waiting_.find({at->second, id})->second.batch;
  }
  bool empty() const noexcept { return waiting_.empty(); }
  std::size_t size() const noexcept { return waiting_.size(); }
  /// Returns the due time of the first timer, in nanoseconds. There must be at least one timer.
  std::uint64_t next_due() const noexcept { return waiting_.begin()->first.due_ns; }
  /// Removes the first timer and returns its batch.
  std::vector<std::byte> pop() {
    auto node = waiting_.extract(waiting_.begin());
    due_by_id_.erase(node.key().id);
    if (log_) log_->push_back({.key = node.key(), .added = false, .batch = node.mapped().batch});
    return std::move(node.mapped().batch);
  }
  const std::map<Key, Waiting>& waiting() const noexcept { return waiting_; }

 private:
  std::map<Key, Waiting> waiting_;
  std::map<TimerId, std::uint64_t> due_by_id_;
  std::vector<Change>* log_ = nullptr;
};

}  // namespace muster
