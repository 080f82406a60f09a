// The worlds of a host on disk. Each world has a folder of its own, so that it can be moved by one
// rename, and so that its visitors are never sent the models of other worlds.
//
//   FOLDER/town/town.muster     the world, with its companion files next to it
//   FOLDER/town/options         arguments of its server, one per line; optional
//   FOLDER/town/...             models of the world
//   FOLDER/.new-*/              a world that is being created or copied; left over after a crash
//   FOLDER/.deleted/S-town/     a world that was deleted S seconds after 1970
//   FOLDER/.lock                held while a host serves the folder
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/host/host_fault.h"

namespace muster::hosting {

struct WorldOnDisk {
  std::string name;
  std::uint64_t bytes = 0;     ///< size of the world file and its journal
  std::int64_t changed_s = 0;  ///< time of the last change, in seconds since 1970
};

struct DeletedWorld {
  std::string id = {};  ///< name of its folder, which identifies it
  std::string name = {};
  std::int64_t deleted_s = 0;
};

/// Has no state except for the path. All functions wait for the disk, and may be called on any
/// thread. Symbolic links are never followed, except in the path of the folder itself.
class WorldFolders {
 public:
  static constexpr std::size_t worlds_max = 10'000;

  explicit WorldFolders(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const noexcept { return folder_; }
  std::string folder_of(const std::string& name) const { return folder_ + "/" + name; }
  std::string file_of(const std::string& name) const { return folder_of(name) + "/" + name + ".muster"; }

  /// Creates the folder if it does not exist, locks it for this process, and removes what an
  /// earlier host left unfinished. On success, returns the descriptor that holds the lock.
  [[nodiscard]] std::expected<int, std::string> take() const;

  /// Returns true if a world of exactly this name exists.
  bool has(const std::string& name) const;
  /// Returns all worlds, ordered by name. Entries that are not worlds are skipped.
  std::vector<WorldOnDisk> worlds() const;
  std::vector<DeletedWorld> deleted() const;
  /// Fails if the world cannot be created because of its name, or because an entry exists whose
  /// name differs at most in the case of letters.
  [[nodiscard]] std::expected<void, HostFault> check_free(const std::string& name) const;

  /// Creates an empty folder for a world that is being made, and returns its path.
  [[nodiscard]] std::expected<std::string, HostFault> begin_new() const;
  /// Gives a finished world its name. On failure, `made` remains.
  [[nodiscard]] std::expected<void, HostFault> finish_new(const std::string& made, const std::string& name) const;
  /// Removes a folder from begin_new().
  void drop_new(const std::string& made) const;
  /// Copies the files next to a world, such as models, to the folder `to`. Companion files of the
  /// world are not copied.
  [[nodiscard]] std::expected<void, HostFault> copy_other_files(const std::string& name, const std::string& to) const;

  /// Moves a world to the deleted ones, and returns its id there.
  [[nodiscard]] std::expected<DeletedWorld, HostFault> remove(const std::string& name, std::int64_t now_s) const;
  /// Moves a deleted world back, and returns its name.
  [[nodiscard]] std::expected<std::string, HostFault> restore(const std::string& id) const;
  /// Removes the worlds that were deleted before the time, and returns their names.
  std::vector<std::string> purge(std::int64_t before_s) const;

  /// Returns the arguments in the world's `options` file, or none if there is no such file. Fails
  /// if the file sets an option that belongs to the host.
  [[nodiscard]] std::expected<std::vector<std::string>, std::string> options_of(const std::string& name) const;

 private:
  std::string folder_;
};

/// Returns the reason why a world's server may not have this argument, or an empty string.
std::string why_not_an_argument(const std::string& argument);

}  // namespace muster::hosting
