// The rows of a save, kept in memory, so that another thread can write them while the registry goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "registry/state/state.h"
#include "server/world/rows/kept_rows.h"
#include "server/world/rows/preserved_columns.h"

namespace muster {

/// Filled by one thread, given by another afterwards. Memory: the rows that changed since the last save, and 24 bytes for each of the
/// others.
class StateCopy final : public StateSink {
 public:
  /// Copies no row that `known` has at the version that is asked for; null: all. Used while it is filled only.
  explicit StateCopy(const KeptRows* known) : known_(known) {}
  /// The same, but columns stay where they lie, and are given once: until then preserver() must be told before they change. `saved` is what
  /// EntityRegistry::begin_version gave before a save that `known` has all of: rows of storage that are no newer are not looked up.
  /// 0: there is none.
  StateCopy(const KeptRows* known, std::uint64_t saved, std::uint64_t preserved_bytes_max)
      : known_(known), saved_(saved), columns_(std::make_unique<PreservedColumns>(preserved_bytes_max)) {}
  /// The same, in the memory of `used`, which was cleared: where about as many rows come as did then, the system is asked for little.
  StateCopy(const KeptRows* known, std::uint64_t saved, StateCopy&& used);
  /// Of a copy whose columns lie where they are, when nobody tells its preserver() of anything any more: it has no rows, and its memory but
  /// for that of their bytes.
  void clear();

  /// About so many rows will come.
  void expect(std::size_t rows) { rows_.reserve(rows); }
  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  /// Null: all was copied. Stays where it is when this is moved.
  PreservedColumns* preserver() const noexcept { return columns_.get(); }

  /// Gives all of it, in the order in which it came. False: `to` has not got a row any more that `known` had, or a column's bytes were given
  /// before or given up; what it was given then is not the whole state.
  [[nodiscard]] bool give(StateSink& to) const;
  /// The same from row `at` on, until `enough`, which is asked after each row, or the end; `at` is then where to go on.
  template <class Enough>
  [[nodiscard]] bool give(StateSink& to, std::size_t& at, Enough enough) const {
    while (at < rows_.size()) {
      if (!give_row(to, rows_[at])) return false;
      ++at;
      if (enough()) break;
    }
    return true;
  }
  /// Rows that it gives, those that are only asked for counted.
  std::size_t size() const noexcept { return rows_.size(); }

 private:
  enum class From : std::uint8_t { here, known, columns };
  struct Row {
    std::uint64_t key, version;
    std::uint32_t number;  // of here_ or of columns_; where the row is known, the key's column
    StateSection section;
    From from;
  };
  struct Here {
    std::span<const std::byte> bytes;
    std::uint32_t column;  // of its key
  };
  void add(const StateKey& key, std::uint64_t version, std::uint32_t number, From from) {
    rows_.push_back({key.key, version, number, key.section, from});
  }
  void add_here(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes);
  bool is_known(const StateKey& key, std::uint64_t version) const;
  bool give_row(StateSink& to, const Row& row) const;

  const KeptRows* const known_;
  const std::uint64_t saved_ = 0;
  std::unique_ptr<PreservedColumns> columns_;
  std::vector<Row> rows_;
  std::vector<Here> here_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* end_ = nullptr;  // of the last block
  std::size_t left_ = 0;      // in it
};

}  // namespace muster
