// Reads the `state` table as a StateSource: every row is checked before it is given, and all of them are added up.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "server/world/database.h"
#include "server/world/file_meta.h"
#include "server/world/rows/kept_rows.h"

namespace muster {

/// Gives each place its newest row that is no newer than the checkpoint in `meta`. Lives inside one read transaction of `database`. Bytes are given aligned to 16. After the first error it gives nothing
/// more; the reader learns of it from finish(), whose verdict comes before the reader's own.
class FileSource : public StateSource {
 public:
  FileSource(Database& database, std::uint32_t format, const FileMeta& meta, KeptRows& rows, std::string shown)
      : database_(database), format_(format), meta_(meta), rows_(rows), shown_(std::move(shown)) {}

  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override;

  /// Reads what nobody asked for, and compares the whole with what the checkpoint noted in `meta`.
  [[nodiscard]] std::expected<void, WorldError> finish();
  /// Of all rows, as finish() does.
  const StateDigest& digest() const noexcept { return whole_; }
  /// Rows that mean nothing any more, by id: those of a checkpoint that never became current, and what was replaced. Those without
  /// bytes come last, since they may go only when what they remove has gone.
  std::vector<std::int64_t> left_over() const;

 private:
  bool read(Statement& statement, StateSection section, StateDigest& digest,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take);
  void fail(WorldErrorCode code, std::string detail);
  std::span<const std::byte> aligned(std::span<const std::byte> bytes);

  Database& database_;
  std::uint32_t format_;
  const FileMeta& meta_;
  KeptRows& rows_;  // stays empty for a file of format 1, which is written anew
  std::string shown_;
  std::map<StateSection, StateDigest> digests_;  // of the sections read so far
  StateDigest whole_;
  std::vector<std::int64_t> left_over_, removals_;
  std::vector<std::byte> buffer_;
  std::optional<WorldError> error_;
};

}  // namespace muster
