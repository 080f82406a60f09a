// Defines the rights of a session. All code that checks a right uses this struct.
#pragma once

#include "schema/descriptor.h"

namespace muster {

/// The rights granted to a token and to the sessions that use it. By default, no rights are
/// granted.
struct Rights {
  RemoteRight role = RemoteRight::none;  ///< each role includes the rights of all lower roles

  /// Returns true if the token is valid, which means that it grants a role.
  bool any() const noexcept { return role != RemoteRight::none; }
  /// Returns true if the token allows sending messages of this type or writing components of this
  /// type.
  bool may_send(const TypeDescriptor& type) const noexcept {
    return type.remote != RemoteRight::none && role >= type.remote;
  }
};

}  // namespace muster
