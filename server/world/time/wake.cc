#include "server/world/time/wake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace muster {

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Wake::~Wake() { ::close(fd_); }

void Wake::signal() const noexcept {
  const int before = errno;  // a signal handler must not change errno
  const std::uint64_t one = 1;
  // The write fails only if the counter is full. In that case, the sleeping thread has already been
  // woken.
  if (::write(fd_, &one, sizeof one) < 0) errno = before;
  errno = before;
}

bool Wake::wait(std::optional<Clock::time_point> until) const noexcept {
  for (;;) {
    timespec left{};
    if (until) {
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(*until - Clock::now()).count();
      if (ns > 0) left = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    }
    pollfd waited{fd_, POLLIN, 0};
    const int ready = ::ppoll(&waited, 1, until ? &left : nullptr, nullptr);
    if (ready > 0) {
      std::uint64_t count;
      return ::read(fd_, &count, sizeof count) == sizeof count;
    }
    if (ready == 0) return false;
    if (errno != EINTR) return false;
    // If the signal handler called World::stop, it also called signal(), which the next poll
    // detects.
  }
}

}  // namespace muster
