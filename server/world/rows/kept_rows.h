// Keeps track of the rows in a world file, so that a save writes only the rows that have changed
// and does not need to read any rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/world/rows/checksum.h"

namespace muster {

struct KeptRow {
  std::int64_t id = 0;  ///< rowid in `state`
  std::uint64_t checkpoint = 0;
  std::uint64_t checksum = 0;
  std::uint64_t length = 0;
  /// The version of the row when this process last saved it. Versions from an earlier process are
  /// meaningless, so a row read from the file has no version until it is compared or written.
  std::uint64_t given_version = 0;
  bool given = false;
  /// True if a row of a kept checkpoint with the same key may lie below this row in the file.
  bool over_kept = false;
  std::uint64_t seen = 0;  ///< number of the most recent save that contained this row
  /// Number of the most recent save for which the columns were unchanged.
  std::uint64_t seen_columns = 0;
};

struct StateKeyHash {
  std::size_t operator()(const StateKey& key) const noexcept {
    const std::uint64_t mixed =
        (key.key ^ (std::uint64_t{key.column} << 32) ^ static_cast<std::uint64_t>(key.section)) * 0x9e3779b97f4a7c15ull;
    return mixed ^ (mixed >> 29);
  }
};

/// Stores columns grouped by chunk, so that a single lookup is enough for an unchanged chunk and
/// all of its columns. Pointers to rows are valid until a row is added or removed.
class KeptRows {
 public:
  struct Column {
    std::uint32_t column;
    KeptRow row;
  };
  using Whole = std::unordered_map<StateKey, KeptRow, StateKeyHash>;

  /// Returns the row, or null if there is no such row.
  KeptRow* find(const StateKey& key) {
    if (key.section != StateSection::columns) {
      const auto at = whole_.find(key);
      return at == whole_.end() ? nullptr : &at->second;
    }
    const auto chunk = columns_.find(key.key);
    if (chunk == columns_.end()) return nullptr;
    const auto at = std::ranges::find(chunk->second, key.column, &Column::column);
    return at == chunk->second.end() ? nullptr : &at->row;
  }
  const KeptRow* find(const StateKey& key) const { return const_cast<KeptRows*>(this)->find(key); }
  void put(const StateKey& key, const KeptRow& row) {
    if (KeptRow* known = find(key))
      *known = row;
    else if (key.section != StateSection::columns)
      whole_[key] = row;
    else {
      columns_[key.key].push_back({key.column, row});
      ++column_count_;
    }
  }
  void erase(const StateKey& key) {
    if (key.section != StateSection::columns) {
      whole_.erase(key);
      return;
    }
    const auto chunk = columns_.find(key.key);
    if (chunk == columns_.end()) return;
    column_count_ -= std::erase_if(chunk->second, [&](const Column& column) { return column.column == key.column; });
    if (chunk->second.empty()) columns_.erase(chunk);
  }
  void clear() {
    whole_.clear();
    columns_.clear();
    column_count_ = 0;
  }

  /// Returns all rows except columns.
  const Whole& whole() const noexcept { return whole_; }
  /// Returns the number of columns of a chunk. The overload without arguments counts all columns.
  std::size_t column_count(std::uint64_t chunk) const {
    const auto at = columns_.find(chunk);
    return at == columns_.end() ? 0 : at->second.size();
  }
  std::size_t column_count() const noexcept { return column_count_; }
  const std::unordered_map<std::uint64_t, std::vector<Column>>& columns() const noexcept { return columns_; }
  /// Calls f(key, row) for each row.
  template <class F>
  void each(F f) const {
    for (const auto& [key, row] : whole_) f(key, row);
    for (const auto& [chunk, columns] : columns_)
      for (const Column& column : columns) f(StateKey{StateSection::columns, chunk, column.column}, column.row);
  }

 private:
  Whole whole_;
  std::unordered_map<std::uint64_t, std::vector<Column>> columns_;  // keyed by chunk
  std::size_t column_count_ = 0;
};

}  // namespace muster
