// The rights of a session. All code that checks a right does so through this struct.
#pragma once

#include "schema/descriptor.h"

namespace muster {

/// The rights of a token and of the sessions that use it. By default, there are none.
struct Rights {
  RemoteRight role = RemoteRight::none;  ///< each role includes all lower ones

  /// Returns true if the token is valid at all.
  bool any() const noexcept { return role != RemoteRight::none; }
  /// Returns true if the token allows sending messages of this type or writing components of this
  /// type.
  bool may_send(const TypeDescriptor& type) const noexcept {
    return type.remote != RemoteRight::none && role >= type.remote;
  }
};

}  // namespace muster
