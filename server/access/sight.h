// Decides what a user may see, by rules and by the attribute `see` of types. The rules are
// described in docs/operation.md, and the attribute in docs/schema.md. server/session/seen_now.h
// applies both to the world.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "schema/descriptor.h"
#include "server/access/access_rules.h"

namespace muster {

class TypeTable;

/// The rules of users with limited sight, and the role that the attribute `see` is compared with.
/// Never changes, so any thread may use it. Users with equal rules share one object (AccessRules).
class Sight {
 public:
  /// The last entry that matches decides. Entities that no entry matches are visible, and types
  /// that no entry matches are visible if the role suffices for their attribute `see`.
  Sight(std::vector<RuleEntry> types, std::vector<RuleEntry> places, RemoteRight role = RemoteRight::admin);

  /// Returns true if the type is unknown to the user. A message type that the user may send
  /// according to the role is known even if the user may not see what others send. Types of
  /// Muster itself are always visible.
  bool hides(const TypeDescriptor& type) const noexcept;
  /// Returns true if the user is not sent messages of this type. Is true for each hidden type.
  bool hides_messages_of(const TypeDescriptor& type) const noexcept;
  /// The entries with paths, in their order.
  const std::vector<RuleEntry>& places() const noexcept { return places_; }
  /// Returns true if the rules and the role are the same. The places from which they were read do
  /// not matter.
  bool equals(const Sight& other) const noexcept;

 private:
  std::vector<RuleEntry> types_, places_;
  RemoteRight role_;
};

using HiddenTypes = std::unordered_set<TypeId>;

/// Returns the types that are hidden, and all types that contain one of them.
HiddenTypes hidden_types(const TypeTable& all, const Sight& sight);

/// Returns a table without the hidden types. For a user who may not see them, they are unknown
/// types. The schemas in the result do not depend on the types that were left out.
std::shared_ptr<const TypeTable> visible_types(const TypeTable& all, const Sight& sight);

}  // namespace muster
