// Makes renames and new files durable.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace muster {

/// Writes the entries of a folder to the disk, so that a power failure does not take back which
/// files it contains. Returns false and sets errno on failure. May be called from any thread.
inline bool sync_folder(const std::string& path) noexcept {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool good = folder >= 0 && ::fsync(folder) == 0;
  const int error = errno;
  if (folder >= 0) ::close(folder);
  errno = error;
  return good;
}

/// Calls sync_folder for the folder that contains a file.
inline bool sync_folder_of(const std::string& file) {
  return sync_folder(file.substr(0, file.rfind('/') + 1).append("."));
}

}  // namespace muster
