// Keeps the descriptors 0, 1 and 2 from being given to files: a program may be started with
// standard input, output or error closed, and then the next file that it opens gets the number that
// its log is written to.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

/// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed. Reading from 0 and writing
/// to 1 and 2 fails with EBADF there, as it did before, also in programs that inherit them. Any
/// thread; open descriptors are not touched. Returns 0, or errno if /dev/null cannot be opened.
[[nodiscard]] inline int occupy_standard_descriptors() noexcept {
  for (int each = STDIN_FILENO; each <= STDERR_FILENO; ++each) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    // The lowest free number is given: this one, unless another thread has taken it meanwhile.
    const int opened = ::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) return errno;
    if (opened != each) ::close(opened);
  }
  return 0;
}

}  // namespace muster
