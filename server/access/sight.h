// The rules for what a user may see. docs/operation.md describes them for operators, and
// server/session/seen_now.h applies them to the world.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "schema/descriptor.h"
#include "server/access/access_rules.h"

namespace muster {

class TypeTable;

/// The rules of users with limited sight. Never changes, so any thread may use it. Users with equal
/// rules share one object (AccessRules).
class Sight {
 public:
  /// The last entry that matches decides. Types and entities that no entry matches are
  /// visible.
  Sight(std::vector<RuleEntry> types, std::vector<RuleEntry> places);

  /// Returns true if a rule hides the type of this name. Types of Muster itself are always visible.
  bool hides(std::string_view type) const noexcept;
  /// The entries with paths, in their order.
  const std::vector<RuleEntry>& places() const noexcept { return places_; }
  /// Returns true if the rules are the same. The places from which they were read do not matter.
  bool equals(const Sight& other) const noexcept;

 private:
  std::vector<RuleEntry> types_, places_;
};

using HiddenTypes = std::unordered_set<TypeId>;

/// Returns the types that a rule hides, and all types that contain one of them.
HiddenTypes hidden_types(const TypeTable& all, const Sight& sight);

/// Returns a table without the hidden types. For a user who may not see them, they are unknown
/// types. The schemas in the result do not depend on the types that were left out.
std::shared_ptr<const TypeTable> visible_types(const TypeTable& all, const Sight& sight);

}  // namespace muster
