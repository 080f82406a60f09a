// Ranges of ids from returned grants that were never used. Later grants use these ids first, so
// sessions that repeatedly connect and disconnect do not use up memory. The ranges are determined
// by the states of ids: they are the maximal runs of indices in the state `returned`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace muster {

class ReturnedIds {
 public:
  /// The minimum length of a range. Shorter runs are too short for a grant and go to the FIFO.
  static constexpr std::uint32_t run_min = 64;

  /// Returns the first index of the shortest range with at least `count` ids. If several ranges are
  /// equally short, returns the lowest index. Returns 0 if there is no such range or `count` is 0.
  std::uint32_t find(std::uint32_t count) const noexcept {
    const auto found = by_count_.lower_bound({count, 0});
    return count == 0 || found == by_count_.end() ? 0 : found->second;
  }
  /// Returns the length of the longest range.
  std::uint32_t longest() const noexcept { return by_count_.empty() ? 0 : by_count_.rbegin()->first; }
  /// Adds a range and merges it with its neighbors. None of its indices may already be in a range.
  void add(std::uint32_t first, std::uint32_t count) {
    auto behind = ranges_.upper_bound(first);
    if (behind != ranges_.end() && behind->first == first + count) {
      count += behind->second;
      behind = remove(behind);
    }
    if (behind != ranges_.begin()) {
      if (const auto before = std::prev(behind); before->first + before->second == first) {
        first = before->first;
        count += before->second;
        remove(before);
      }
    }
    ranges_.emplace(first, count);
    by_count_.emplace(count, first);
  }
  /// Removes the range that begins at `first` and returns its length, or 0 if no range begins
  /// there.
  std::uint32_t take(std::uint32_t first) {
    const auto found = ranges_.find(first);
    if (found == ranges_.end()) return 0;
    const std::uint32_t count = found->second;
    remove(found);
    return count;
  }

 private:
  using Ranges = std::map<std::uint32_t, std::uint32_t>;
  Ranges::iterator remove(Ranges::iterator range) {
    by_count_.erase({range->second, range->first});
    return ranges_.erase(range);
  }
  Ranges ranges_;                                               // first index -> length
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_count_;  // length, first index
};

}  // namespace muster
