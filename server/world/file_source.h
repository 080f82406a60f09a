// Reads the `state` table as a StateSource: every row is checked before it is given, and all of them are added up.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "server/world/database.h"
#include "server/world/file_meta.h"
#include "server/world/kept_rows.h"

namespace muster {

/// Lives inside one read transaction of `database`. Bytes are given aligned to 16. After the first error it gives nothing
/// more; the reader learns of it from finish(), whose verdict comes before the reader's own.
class FileSource : public StateSource {
 public:
  FileSource(Database& database, KeptRows& rows, std::string shown)
      : database_(database), rows_(rows), shown_(std::move(shown)) {}

  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override;

  /// Reads what nobody asked for, and compares the whole with what the checkpoint noted in `meta`.
  [[nodiscard]] std::expected<void, WorldError> finish(const FileMeta& meta);

 private:
  bool read(Statement& statement, StateSection section, StateDigest& digest,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take);
  void fail(WorldErrorCode code, std::string detail);
  std::span<const std::byte> aligned(std::span<const std::byte> bytes);

  Database& database_;
  KeptRows& rows_;
  std::string shown_;
  std::map<StateSection, StateDigest> digests_;  // of the sections read so far
  std::vector<std::byte> buffer_;
  std::optional<WorldError> error_;
};

}  // namespace muster
