// Reads the `state` table as a StateSource. Checks each row before passing it on, and computes a
// digest of all rows.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "server/world/rows/kept_rows.h"
#include "server/world/store/database.h"
#include "server/world/store/file_meta.h"
#include "server/world/store/past_rows.h"

namespace muster {

/// For each key, passes on the newest row that is not newer than the checkpoint in `meta`, with its
/// bytes aligned to 16. Must be used within a single read transaction of `database`. After the
/// first error, no further rows are passed on, and finish() returns that error, which takes
/// precedence over any error of the reader.
class FileSource : public StateSource {
 public:
  FileSource(Database& database, const FileMeta& meta, KeptRows& rows, std::string shown)
      : database_(database), meta_(meta), kept_(meta.kept_checkpoints()), rows_(rows), shown_(std::move(shown)) {}

  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override;

  /// Reads the remaining rows, and compares the result with the checkpoint's values in `meta`.
  [[nodiscard]] std::expected<void, WorldError> finish();
  /// Returns the digest of all rows. Must be called after finish().
  const StateDigest& digest() const noexcept { return whole_; }
  /// Returns the ids of rows that are no longer needed, which are replaced rows and the rows of any
  /// checkpoint that never became current. Rows without bytes come last, because the rows that they
  /// mark as deleted must be removed first.
  std::vector<std::int64_t> left_over() const;
  /// Returns the rows that only kept checkpoints need (FileMeta::kept_checkpoints), by the
  /// checkpoints that replaced them. Among them, only those of the level are checked.
  PastRowsBy& past() noexcept { return past_; }

 private:
  bool read(Statement& statement, StateSection section, StateDigest& digest,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take);
  void fail(WorldErrorCode code, std::string detail);
  std::span<const std::byte> aligned(std::span<const std::byte> bytes);

  Database& database_;
  const FileMeta& meta_;
  const std::vector<std::uint64_t> kept_;
  KeptRows& rows_;
  std::string shown_;
  std::map<StateSection, StateDigest> digests_;  // digests of the sections read so far
  StateDigest whole_;
  std::vector<std::int64_t> left_over_, removals_;
  PastRowsBy past_;
  StateDigest level_digest_;
  std::vector<std::byte> buffer_;
  std::optional<WorldError> error_;
};

}  // namespace muster
