// A world file that is looked at as a whole, also while a server has it open: then it is a copy of what is on the disk.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>

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
  /// Opens the world at `path`, which must be there, and locks it; where another process has it open, copies it into a ScratchFolder
  /// ($TMPDIR) and opens that. The file at `path` is left as it is. Errors name `path`.
  [[nodiscard]] static std::expected<ReadWorld, WorldError> open(const std::string& path);

  WorldFile& file() noexcept { return *file_; }
  /// Another process has the world open.
  bool is_running() const noexcept { return folder_.has_value(); }
  /// The same error, of the file that the user named.
  WorldError error(const WorldError& of) const { return {of.code(), path_, of.detail()}; }

 private:
  explicit ReadWorld(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::optional<ScratchFolder> folder_;
  std::optional<WorldFile> file_;  // goes before its folder
};

}  // namespace muster
