#include "client/cli/unfinished_world.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "client/cli/failure.h"
#include "system/sync_folder.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace

bool UnfinishedWorld::fits(const std::string& world) {
  return !is_there(world) && !is_there(world + "-wal") && !is_there(world + "-shm") && !is_there(world + "-journal");
}

UnfinishedWorld::UnfinishedWorld(std::string world) : world_(std::move(world)) {
  const fs::path beside = fs::absolute(world_).parent_path();
  if (!fs::is_directory(beside))
    fail(Exit::bad_file, "cannot make " + world_ + ": there is no folder " + beside.string());
  folder_ = world_ + "-unfinished-XXXXXX";
  if (!::mkdtemp(folder_.data())) fail(Exit::bad_file, "cannot make " + world_ + ": " + std::strerror(errno));
  path_ = (fs::path(folder_) / fs::path(world_).filename()).string();
}

UnfinishedWorld::~UnfinishedWorld() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

void UnfinishedWorld::finish() {
  int error = 0;
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, world_.c_str(), RENAME_NOREPLACE) != 0) error = errno;
  // Some file systems do not support renameat2() with RENAME_NOREPLACE.
  if (error == EINVAL || error == ENOSYS)
    error = is_there(world_) ? EEXIST : std::rename(path_.c_str(), world_.c_str()) != 0 ? errno : 0;
  if (error == EEXIST) fail(Exit::refused, world_ + " was created by another program in the meantime");
  if (error != 0) fail(Exit::bad_file, "cannot make " + world_ + ": " + std::strerror(error));
  // Rename the lock file as well. Its content remains valid for the renamed world file.
  ::renameat2(AT_FDCWD, (path_ + "-lock").c_str(), AT_FDCWD, (world_ + "-lock").c_str(), RENAME_NOREPLACE);
  sync_folder_of(world_);
}

std::string UnfinishedWorld::renamed(std::string text) const {
  for (const std::string& from : {fs::absolute(path_).string(), path_})
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += world_.size())
      text.replace(at, from.size(), world_);
  return text;
}

}  // namespace muster::cli
