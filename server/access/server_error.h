// The error that is thrown if a server cannot start.
#pragma once

#include <stdexcept>

namespace muster {

/// The reason why a server could not start, such as a port in use or an address that is not
/// loopback.
class ServerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
