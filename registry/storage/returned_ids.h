// Ranges of never-used ids that were granted and came back: later grants take them first, so that sessions which come and go
// cost no memory. What is kept follows from the states of ids alone: the longest runs of indices in state `returned`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace muster {

class ReturnedIds {
 public:
  /// Shorter runs are not worth a grant of their own: they go to the FIFO.
  static constexpr std::uint32_t run_min = 64;

  /// The first index of the shortest range that has `count` (of equal ones the lowest); 0 where none has, or count is 0.
  std::uint32_t find(std::uint32_t count) const noexcept {
    const auto found = by_count_.lower_bound({count, 0});
    return count == 0 || found == by_count_.end() ? 0 : found->second;
  }
  /// Of the longest range.
  std::uint32_t longest() const noexcept { return by_count_.empty() ? 0 : by_count_.rbegin()->first; }
  /// Adds a range and joins it to its neighbours. None of its indices is there yet.
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
  /// Takes out the range that begins at `first`; gives its length, 0 where none begins there.
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
  Ranges ranges_;                                               // first index -> how many
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_count_;  // how many, first index
};

}  // namespace muster
