// Opens the files of a world.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

/// Opens a regular file for this process alone, without following a symbolic link at the end of the
/// path and without waiting for the other end of a FIFO. With O_CREAT, a new file gets `mode`.
/// Returns -1 and sets errno on failure: ELOOP for a link, EINVAL for anything else that is not a
/// regular file. May be called from any thread.
[[nodiscard]] inline int open_file(const char* path, int flags, mode_t mode = 0600) noexcept {
  const int file = ::open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
  if (file < 0) return file;
  struct stat found{};
  int error = ::fstat(file, &found) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(found.st_mode)) error = EINVAL;
  if (error == 0) return file;
  ::close(file);
  errno = error;
  return -1;
}

}  // namespace muster
