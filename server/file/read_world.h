// A world file that is looked at as a whole, also while a server has it open, or where it may not be written: then it is a copy of what is on
// the disk.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "registry/entity_registry.h"
#include "server/world/journal/journal_group.h"
#include "server/world/journal/record_reader.h"
#include "server/world/world_file.h"

namespace muster {

/// A folder of one's own among the temporary ones, which goes with everything in it. Movable.
class ScratchFolder {
 public:
  /// An error of the system in words.
  [[nodiscard]] static std::expected<ScratchFolder, std::string> make();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const noexcept { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class ReadWorld {
 public:
  /// Opens the world at `path`, which must be there, and locks it; where another process has it open, or it may not be written, copies it
  /// into a ScratchFolder ($TMPDIR) and opens that. The file at `path` is left as it is. Errors name `path`.
  [[nodiscard]] static std::expected<ReadWorld, WorldError> open(const std::string& path);

  const WorldFile& file() const noexcept { return *file_; }
  /// Reads the state into a registry that is new; the types it lacks come with it.
  [[nodiscard]] std::expected<LoadReport, WorldError> load(EntityRegistry& registry);
  /// Calls `begin` for each group behind the checkpoint, and `take` for each record in it, judged as recovery does; types that records teach
  /// are added to the registry, and nothing is done again. Where `begin` gives false no more is taken: that group and those behind it
  /// are judged as groups alone. To be called after load().
  [[nodiscard]] std::expected<JournalReport, WorldError> journal(
      EntityRegistry& registry, const std::function<bool(const JournalGroup&)>& begin,
      const std::function<void(const JournalGroup&, const JournalRecord&)>& take);
  /// Another process has the world open.
  bool is_running() const noexcept { return running_; }
  /// The same error, of the file that the user named.
  WorldError error(const WorldError& of) const { return {of.code(), path_, of.detail()}; }

 private:
  explicit ReadWorld(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool running_ = false;
  std::optional<ScratchFolder> folder_;
  std::optional<WorldFile> file_;  // goes before its folder
};

}  // namespace muster
