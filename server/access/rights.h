// What a session may do. Every check of a right asks this struct.
#pragma once

#include "schema/descriptor.h"

namespace muster {

/// The rights of a token, and of its sessions. The default has none.
struct Rights {
  RemoteRight role = RemoteRight::none;  ///< includes the rights before it

  /// Returns true if the token is valid at all.
  bool any() const noexcept { return role != RemoteRight::none; }
  /// Returns true if messages of this type may be sent, or components of this type be written.
  bool may_send(const TypeDescriptor& type) const noexcept {
    return type.remote != RemoteRight::none && role >= type.remote;
  }
};

}  // namespace muster
