// Writes a registry's rows into the `state` table: those that changed, and the removal of those that vanished.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "server/world/database.h"
#include "server/world/rows/kept_rows.h"

namespace muster {

struct SinkCounts {
  std::uint64_t rows_written = 0, rows_removed = 0, bytes_written = 0;
};

/// Where a row goes that another one replaces.
enum class Replacing : std::uint8_t {
  in_place,  ///< the old one is written over; all within one transaction
  beside,    ///< the old one stays and counts until the checkpoint is current; what vanishes gets a row without bytes
};

/// Lives inside one write transaction of `database`, with `beside` in as many as its user likes. `rows` and `digest` are left as
/// they were until keep() is called after the commit, so that a checkpoint that fails is forgotten by dropping the sink.
class FileSink : public StateSink {
 public:
  /// `checkpoint` is the number of the one being written; `save` a number that no earlier sink over `rows` had.
  FileSink(Database& database, KeptRows& rows, const StateDigest& digest, std::uint64_t checkpoint, std::uint64_t save,
           Replacing replacing, std::string shown);

  bool has(const StateKey& key, std::uint64_t version) override;
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override;

  using Row = std::pair<StateKey, KeptRow>;
  /// What was neither given nor asked for. To be called once, when all rows were.
  std::vector<Row> vanished() const;
  void remove(const Row& row);
  /// The first error so far; all that is given after it is passed over.
  [[nodiscard]] std::expected<void, WorldError> good() const;
  /// The state as it is after the commit.
  const StateDigest& digest() const noexcept { return digest_; }
  const SinkCounts& counts() const noexcept { return counts_; }
  /// After the commit: `rows` learns what was written.
  void keep();
  /// Rows that mean nothing once the checkpoint is current, by id; those without bytes come last, since they may go only when what they
  /// remove has gone. Empty where all was written in place.
  std::vector<std::int64_t> replaced() const;
  /// Rows that were inserted, by id.
  std::vector<std::int64_t> inserted() const;

 private:
  /// The save has this row. False, with an error: it had it before.
  bool see(const StateKey& key, KeptRow& kept);
  /// Without bytes: there is none from now on.
  void insert(const StateKey& key, std::uint64_t checksum, std::optional<std::span<const std::byte>> bytes);
  void write(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes, const KeptRow* old);
  void fail(const StateKey& key);

  Database& database_;
  KeptRows& rows_;
  StateDigest digest_;
  std::uint64_t checkpoint_;
  std::uint64_t save_;
  Replacing replacing_;
  std::string shown_;
  Statement insert_, update_, remove_;
  std::vector<Row> written_;
  std::vector<StateKey> removed_;
  std::vector<std::int64_t> replaced_, removals_;             // by id; removals have no bytes
  std::vector<std::pair<KeptRow*, std::uint64_t>> compared_;  // equal to what the file has, and at which version
  std::size_t whole_seen_ = 0, columns_seen_ = 0;             // rows known before that this save has
  SinkCounts counts_;
  std::optional<WorldError> error_;
};

}  // namespace muster
