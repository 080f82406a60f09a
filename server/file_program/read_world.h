// Reads a whole world file. If a server has the world open, or if the file is not writable, copies
// the file to disk and reads the copy.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "server/world/file/world_file.h"
#include "server/world/journal/journal_group.h"
#include "server/world/journal/record_reader.h"
#include "server/world/replay/slice.h"
#include "system/temporary_folder.h"

namespace muster {

class ReadWorld {
 public:
  /// Opens and locks the existing world at `path`. If another process has the world open, or if the
  /// file is not writable, copies it to a TemporaryFolder (in $TMPDIR) and opens the copy. Does not
  /// change the file at `path`. Errors refer to `path`.
  [[nodiscard]] static std::expected<ReadWorld, WorldError> open(const std::string& path);

  WorldFile& file() noexcept { return *file_; }
  /// Reads the state into a new registry, and adds any types that the registry lacks.
  [[nodiscard]] std::expected<LoadReport, WorldError> load(EntityRegistry& registry);
  /// Reads the steps of the history. Must be called after load().
  [[nodiscard]] std::expected<std::vector<EditHistory::Saved>, WorldError> steps();
  /// Calls `begin` for each group after the checkpoint, and `take` for each record in the group.
  /// Records are verified in the same way as in recovery. Adds types from records to the registry,
  /// but does not replay anything. If `begin` returns false, the records of that group and of all
  /// later ones are skipped, and only the groups themselves are verified. Must be called after
  /// load().
  [[nodiscard]] std::expected<JournalReport, WorldError> journal(
      EntityRegistry& registry, const std::function<bool(const JournalGroup&)>& begin,
      const std::function<void(const JournalGroup&, const JournalRecord&)>& take);
  /// Reads the checkpoint and the journal; see slice_of(). Must be called instead of load().
  [[nodiscard]] std::expected<Slice, WorldError> slice(const SliceRange& range);
  /// Returns true if another process has the world open.
  bool is_running() const noexcept { return running_; }
  /// Returns the error, with the path replaced by the one that the user supplied.
  WorldError error(const WorldError& of) const { return {of.code(), path_, of.detail()}; }

 private:
  explicit ReadWorld(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool running_ = false;
  std::unique_ptr<TemporaryFolder> folder_;
  std::optional<WorldFile> file_;  // destroyed before its folder
};

}  // namespace muster
