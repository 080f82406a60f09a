// Defines the rights of a session. All code that checks a right uses this struct.
#pragma once

#include "schema/descriptor.h"
#include "server/access/access_rules.h"

namespace muster {

/// The rights granted to a token and to the sessions that use it. By default, no rights are
/// granted.
struct Rights {
  RemoteRight role = RemoteRight::none;  ///< each role includes the rights of all lower roles

  /// The rules that concern the user, or null. They may change, but never while they are read.
  const WriteRules* rules = nullptr;

  /// Returns true if there are rules about writing to check.
  bool has_rules() const noexcept { return rules && !rules->empty(); }
  /// Returns the rules for what the user may see, or null if the user may see everything.
  const Sight* sight() const noexcept { return rules ? rules->sight().get() : nullptr; }
  /// Returns true if the token is valid, which means that it grants a role.
  bool any() const noexcept { return role != RemoteRight::none; }
  /// Returns true if the token allows sending messages of this type or writing components of this
  /// type.
  bool may_send(const TypeDescriptor& type) const noexcept {
    if (type.remote == RemoteRight::none) return false;
    if (has_rules()) [[unlikely]]
      if (const auto decided = rules->decides(type)) return *decided;
    return role >= type.remote;
  }
};

}  // namespace muster
