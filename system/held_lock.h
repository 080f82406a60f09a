// Asks whether another process holds the lock of a file.
#pragma once

#include <fcntl.h>

namespace muster {

/// Returns true if an open file description other than `file` holds a write lock on the file. The
/// process that has a world open holds one on the world's lock file (server/world/file/lock.h).
[[nodiscard]] inline bool is_write_locked(int file) noexcept {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
}

}  // namespace muster
