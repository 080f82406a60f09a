// Keeps track of the rows in a world file that only past checkpoints need.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace muster {

/// Rows that one checkpoint replaced or removed.
struct PastRows {
  std::vector<std::int64_t> rows = {};  ///< ids of the replaced rows
  /// Ids of rows without bytes, to be removed after `rows`.
  std::vector<std::int64_t> removals = {};
  std::uint64_t bytes = 0;  ///< size of the replaced rows

  bool empty() const noexcept { return rows.empty() && removals.empty(); }
  void add(const PastRows& other) {
    rows.insert(rows.end(), other.rows.begin(), other.rows.end());
    removals.insert(removals.end(), other.removals.begin(), other.removals.end());
    bytes += other.bytes;
  }
};

/// Past rows by the checkpoint that replaced them. A kept checkpoint needs those that a later one
/// replaced.
using PastRowsBy = std::map<std::uint64_t, PastRows>;

/// Moves the rows that no checkpoint from `oldest` on needs to `removed`, in the order in which
/// they must be removed. 0 stands for no checkpoint.
inline void take_unneeded(PastRowsBy& past, std::uint64_t oldest, std::vector<std::int64_t>& removed) {
  PastRows all;
  while (!past.empty() && (oldest == 0 || past.begin()->first <= oldest)) {
    all.add(past.begin()->second);
    past.erase(past.begin());
  }
  removed.insert(removed.end(), all.rows.begin(), all.rows.end());
  removed.insert(removed.end(), all.removals.begin(), all.removals.end());
}

}  // namespace muster
