// How much of what was written to a socket the kernel still holds.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstddef>

namespace muster {

/// Bytes that the other end has not taken; 0 where the kernel does not say.
inline std::size_t unsent_bytes(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace muster
