// Writes a registry's rows into the `state` table: those that changed, and the removal of those that vanished.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "server/world/database.h"
#include "server/world/kept_rows.h"

namespace muster {

struct SinkCounts {
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
};

/// Lives inside one write transaction of `database`. `rows` and `digest` are left as they were until keep() is called
/// after the commit, so that a checkpoint that fails is forgotten by dropping the sink.
class FileSink : public StateSink {
 public:
  /// `checkpoint` is the number of the one being written; `save` a number that no earlier sink over `rows` had.
  FileSink(Database& database, KeptRows& rows, const StateDigest& digest, std::uint64_t checkpoint, std::uint64_t save,
           std::string shown);

  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  /// Removes what was neither given nor asked for. To be called once, when all rows were.
  [[nodiscard]] std::expected<void, WorldError> finish();
  /// The state as it is after the commit.
  const StateDigest& digest() const noexcept { return digest_; }
  const SinkCounts& counts() const noexcept { return counts_; }
  /// After the commit: `rows` learns what was written.
  void keep();

 private:
  /// The save has this row. False, with an error: it had it before.
  bool see(const StateKey& key, KeptRow& kept);
  void remove(const StateKey& key, const KeptRow& kept);
  void write(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes, const KeptRow* old);
  void fail(const StateKey& key);

  Database& database_;
  KeptRows& rows_;
  StateDigest digest_;
  std::uint64_t checkpoint_;
  std::uint64_t save_;
  std::string shown_;
  Statement insert_, update_, remove_;
  std::vector<std::pair<StateKey, KeptRow>> written_;
  std::vector<StateKey> removed_;
  std::vector<std::pair<KeptRow*, std::uint64_t>> compared_;  // equal to what the file has, and at which version
  std::size_t whole_seen_ = 0, columns_seen_ = 0;             // rows known before that this save has
  SinkCounts counts_;
  std::optional<WorldError> error_;
};

}  // namespace muster
