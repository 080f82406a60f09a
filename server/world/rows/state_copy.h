// Copies the rows of a save, so that another thread can write them while the registry goes on.
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

/// One thread fills it; then another calls give(). Memory: the rows that changed since the last
/// save, and 24 bytes for each other row.
class StateCopy final : public StateSink {
 public:
  /// Does not copy rows that `known` has in the same version; null copies all. `known` is used only
  /// during filling.
  explicit StateCopy(const KeptRows* known) : known_(known) {}
  /// Leaves columns in place and gives them once; until then, call preserver() before they change.
  /// `saved` is the result of EntityRegistry::begin_version before a save that `known` has
  /// completely, or 0. Older rows of storage are not looked up.
  StateCopy(const KeptRows* known, std::uint64_t saved, std::uint64_t preserved_bytes_max)
      : known_(known), saved_(saved), columns_(std::make_unique<PreservedColumns>(preserved_bytes_max)) {}
  /// Does the same with the memory of `used`, which must be cleared.
  StateCopy(const KeptRows* known, std::uint64_t saved, StateCopy&& used);
  /// Removes all rows of a copy with columns in place, and keeps memory except that of their bytes.
  /// preserver() must not be in use.
  void clear();

  /// Reserves memory for about `rows` rows.
  void expect(std::size_t rows) { rows_.reserve(rows); }
  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  /// Returns the preserver, or null if all was copied. It does not move with this object.
  PreservedColumns* preserver() const noexcept { return columns_.get(); }

  /// Gives all rows to `to` in the original order. Returns false if the result is incomplete: `to`
  /// lacks a row of `known`, or a column's bytes were given before or given up.
  [[nodiscard]] bool give(StateSink& to) const;
  /// Gives rows from `at` on until `enough` returns true, which is called after each row, or the
  /// end. Sets `at` to the next row.
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
    std::uint32_t number;  // in here_ or columns_; for a known row, the key's column
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
  std::byte* end_ = nullptr;  // of the last block
  std::size_t left_ = 0;      // in it
};

}  // namespace muster
