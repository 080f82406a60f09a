#include "server/world/place/file_stamp.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace muster {
namespace {

FileIdentity identity(int folder, const char* path, int flags) noexcept {
  struct statx file{};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &file) != 0) return {};
  FileIdentity found{.device = makedev(file.stx_dev_major, file.stx_dev_minor), .inode = file.stx_ino};
  if (file.stx_mask & STATX_BTIME)
    found.born_ns = static_cast<std::uint64_t>(file.stx_btime.tv_sec) * 1'000'000'000 + file.stx_btime.tv_nsec;
  return found;
}

FileStamp stamp(const struct stat& file) noexcept {
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .bytes = static_cast<std::uint64_t>(file.st_size),
          .written_ns = std::int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec};
}

}  // namespace

FileIdentity identity_of(const std::string& path) noexcept { return identity(AT_FDCWD, path.c_str(), 0); }
FileIdentity identity_of(int descriptor) noexcept { return identity(descriptor, "", AT_EMPTY_PATH); }

FileStamp stamp_of(const std::string& path) noexcept {
  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0) return stamp(file);
  return {.error = errno == ENOENT || errno == ENOTDIR ? 0 : errno};
}

FileStamp stamp_behind(const std::string& path) noexcept {
  struct stat file{};
  if (::stat(path.c_str(), &file) == 0) return stamp(file);
  return {.error = errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : errno};
}

FileStamp stamp_of(int descriptor) noexcept {
  struct stat file{};
  return ::fstat(descriptor, &file) == 0 ? stamp(file) : FileStamp{};
}

bool has_open(const FileStamp& file, int except) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return true;
  bool found = false;
  while (const dirent* const each = ::readdir(folder)) {
    const int descriptor = std::atoi(each->d_name);
    if (each->d_name[0] == '.' || descriptor == except || descriptor == ::dirfd(folder)) continue;
    found = found || stamp_of(descriptor).is_same_file(file);
  }
  ::closedir(folder);
  return found;
}

}  // namespace muster
