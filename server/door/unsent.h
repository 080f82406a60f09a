// Determines how many written bytes of a socket the kernel still holds.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstddef>

namespace muster {

/// Returns the bytes that the other end has not received; 0 if the kernel does not report them.
inline std::size_t unsent_bytes(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace muster
