// Prevents newly opened files from getting descriptors 0, 1, and 2. A program may be started with
// its standard input, output, or error stream closed. Without this precaution, the next file that
// it opens could get the descriptor to which the program's log is written.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

/// Opens /dev/null on each of the descriptors 0, 1, and 2 that is closed. Afterward, reading from 0
/// and writing to 1 and 2 still fail with EBADF, even in programs that inherit these descriptors.
/// Descriptors that are already open do not change. Returns 0, or errno if /dev/null cannot be
/// opened. May be called from any thread.
[[nodiscard]] inline int occupy_standard_descriptors() noexcept {
  for (int each = STDIN_FILENO; each <= STDERR_FILENO; ++each) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    // open() returns the lowest free descriptor, which is this one unless another thread has opened
    // it in the meantime.
    const int opened = ::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) return errno;
    if (opened != each) ::close(opened);
  }
  return 0;
}

}  // namespace muster
