// The error thrown when a server cannot start.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

/// The reason why a server could not start, such as a port that is in use or an address that is not
/// a loopback address. what() returns a sentence.
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
