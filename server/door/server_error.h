// What keeps a server from being set up.
#pragma once

#include <stdexcept>

namespace muster {

/// Why a server could not be set up: a port in use, an address that is not loopback.
class ServerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
