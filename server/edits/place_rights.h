// Decides whether the rules of a user (server/access/access_rules.h) allow an edit of the world.
#pragma once

#include <optional>

#include "messages/batch.h"
#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/access/access_rules.h"

namespace muster {

/// Returns a fault if a rule denies one of the edit's messages, components, or places in the tree.
/// Judges the edit by the rules and the tree as they are now. Must be called on the world thread,
/// between inputs. `edit` must be valid (server/session/judge.h).
///
/// An edit needs the right to write each of its targets and, if it places entities, their new
/// parents. Messages without a target, and entities without a parent, belong to "/". A user cannot
/// rename, move or destroy an entity that one of the user's rules names, nor the entities above it.
[[nodiscard]] std::optional<session::Fault> rule_fault(const EntityRegistry& registry, const WriteRules& rules,
                                                       BatchView edit);

}  // namespace muster
