// Copies the rows of a save, so that another thread can write them while the registry continues to
// run.
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

/// One thread fills the copy, and another thread then calls give(). A copy needs memory for the
/// rows that have changed since the previous save, plus 24 bytes for every other row.
class StateCopy final : public StateSink {
 public:
  /// Skips rows that `known` contains in the same version. If `known` is null, copies all rows.
  /// `known` is used only while the copy is being filled. Columns stay in place, and each is passed
  /// on once. Until a column has been passed on, preserver() must be called before the column
  /// changes. `saved` is the value that RegistryHost::begin_version returned before a save whose
  /// rows are all in `known`, or 0. Storage rows older than `saved` are not looked up.
  StateCopy(const KeptRows* known, std::uint64_t saved, std::uint64_t preserved_bytes_max)
      : known_(known), saved_(saved), columns_(std::make_unique<PreservedColumns>(preserved_bytes_max)) {}
  /// Like the constructor above, but reuses the memory of `used`, on which clear() must have been
  /// called.
  StateCopy(const KeptRows* known, std::uint64_t saved, StateCopy&& used);
  /// Removes all rows of a copy whose columns are in place. Keeps the memory, except for the memory
  /// of the rows' bytes. preserver() must not be in use.
  void clear();

  /// Reserves memory for about `rows` rows.
  void expect(std::size_t rows) { rows_.reserve(rows); }
  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  /// Returns the preserver, or null if this object has been moved from. The preserver keeps its
  /// address when this object is moved.
  PreservedColumns* preserver() const noexcept { return columns_.get(); }

  /// Passes all rows to `to` in their original order. Returns false if the result is incomplete
  /// because `to` lacks a row of `known`, or because a column's bytes were already passed on or
  /// were lost.
  [[nodiscard]] bool give(StateSink& to) const;
  /// Passes on rows, starting at `at`, and calls `enough` after each one. Stops at the end or when
  /// `enough` returns true. Sets `at` to the next row.
  template <class Enough>
  [[nodiscard]] bool give(StateSink& to, std::size_t& at, Enough enough) const {
    while (at < rows_.size()) {
      if (!give_row(to, rows_[at])) return false;
      ++at;
      if (enough()) break;
    }
    return true;
  }
  /// Returns the number of rows, including those that were not copied.
  std::size_t size() const noexcept { return rows_.size(); }

 private:
  enum class From : std::uint8_t { here, known, columns };
  struct Row {
    std::uint64_t key, version;
    std::uint32_t number;  // index in here_ or columns_; for a known row, the key's column
    StateSection section;
    From from;
  };
  struct Here {
    std::span<const std::byte> bytes;
    std::uint32_t column;  // the key's column
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
  std::byte* end_ = nullptr;  // end of the last block
  std::size_t left_ = 0;      // bytes remaining in the last block
};

}  // namespace muster
