// Determines how many bytes written to a socket are still in the kernel.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstddef>

namespace muster {

/// Returns the number of bytes that the other end has not received, or 0 if the kernel does not
/// report it.
inline std::size_t unsent_bytes(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace muster
