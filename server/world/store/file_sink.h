// Writes the changed rows of a registry to the `state` table, and removes rows that no longer
// exist.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "server/world/rows/kept_rows.h"
#include "server/world/store/database.h"
#include "server/world/store/past_rows.h"

namespace muster {

struct SinkCounts {
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
};

/// Selects what happens to the old version of a row when the row is replaced.
enum class Replacing : std::uint8_t {
  in_place,  ///< the old version is overwritten; all rows are written in one transaction
  beside,    ///< the old version stays valid until the checkpoint is current
};

/// A sink is used within a single write transaction of `database` or, with Replacing::beside,
/// across several. `rows` and `digest` do not change until committed() is called after the commit.
/// If the checkpoint fails, the caller must discard the sink.
class FileSink : public StateSink {
 public:
  /// `checkpoint` is the number of the checkpoint being written. No earlier sink for `rows` may
  /// have used the same `save` number. Rows of the checkpoint `kept` and of earlier ones are
  /// neither changed nor returned by replaced(); 0 means that none is kept.
  FileSink(Database& database, KeptRows& rows, const StateDigest& digest, std::uint64_t checkpoint, std::uint64_t save,
           Replacing replacing, std::uint64_t kept, std::string shown);

  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  using Row = std::pair<StateKey, KeptRow>;
  /// Returns the known rows that were neither passed to row() nor queried with has(). Must be
  /// called exactly once, after all rows have been passed.
  std::vector<Row> vanished() const;
  void remove(const Row& row);
  /// Returns the first error. Rows passed after an error are ignored.
  [[nodiscard]] std::expected<void, WorldError> good() const;
  /// Returns the digest of the state as it will be after the commit.
  const StateDigest& digest() const noexcept { return digest_; }
  const SinkCounts& counts() const noexcept { return counts_; }
  /// Updates `rows`. Must be called after the commit.
  void committed();
  /// Returns the ids of rows that are no longer needed once the checkpoint is current. Rows without
  /// bytes come last, because the rows that they mark as deleted must be removed first. If all rows
  /// were written in place, returns an empty list.
  std::vector<std::int64_t> replaced() const;
  /// Returns the rows that are no longer current, but that kept checkpoints need.
  const PastRows& past() const noexcept { return past_; }
  /// Returns the ids of inserted rows.
  std::vector<std::int64_t> inserted() const;

 private:
  /// Marks the row as part of this save. If the row is already part of this save, sets an error and
  /// returns false.
  bool see(const StateKey& key, KeptRow& kept);
  /// Inserts a row. A row without bytes marks the row with that key as deleted.
  void insert(const StateKey& key, std::uint64_t checksum, std::optional<std::span<const std::byte>> bytes);
  void write(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes, const KeptRow* old);
  /// Notes that a row is no longer current.
  void leave(const KeptRow& old);
  void fail(const StateKey& key);

  Database& database_;
  KeptRows& rows_;
  StateDigest digest_;
  std::uint64_t checkpoint_;
  std::uint64_t save_;
  Replacing replacing_;
  std::uint64_t kept_;
  std::string shown_;
  Statement insert_, update_, remove_;
  std::vector<Row> written_;
  std::vector<StateKey> removed_;
  // Row ids; the rows in `removals_` have no bytes.
  std::vector<std::int64_t> replaced_, removals_;
  PastRows past_;
  std::vector<std::pair<KeptRow*, std::uint64_t>> compared_;  // same as in the file
  // Number of known rows seen in this save.
  std::size_t whole_seen_ = 0, columns_seen_ = 0;
  SinkCounts counts_;
  std::optional<WorldError> error_;
};

}  // namespace muster
