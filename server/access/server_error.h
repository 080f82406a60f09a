// Defines the error that is thrown if a server cannot start.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

/// Thrown if a server cannot start, for example because a port is in use or because an address is
/// not a loopback address. what() returns a human-readable message.
class ServerError : public std::runtime_error {
 public:
  explicit ServerError(const std::string& what, bool port_in_use = false)
      : std::runtime_error(what), port_in_use_(port_in_use) {}
  /// Returns true if another program, or another server in this program, is listening on the port.
  bool port_in_use() const noexcept { return port_in_use_; }

 private:
  bool port_in_use_;
};

}  // namespace muster
