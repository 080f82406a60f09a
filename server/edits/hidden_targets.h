// Keeps users with limited sight from finding out, by means of edits, what they may not see.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "messages/batch.h"
#include "messages/session.h"
#include "registry/apply/receipt.h"
#include "registry/entity_registry.h"
#include "server/session/seen_now.h"

namespace muster {

/// Replaces the entities that the edit addresses and that its user may not see by ids that no
/// entity has, so that the world treats them as dead. Adds the replaced entities to `replaced`.
/// Returns a fault if the edit would place an entity where it would be hidden, or would rename,
/// move or destroy an entity that a rule about seeing names, or one above, or names a hidden type.
/// That depends on the rules and on visible entities only. `edit` must be valid
/// (server/session/judge.h). Must be called on the world thread, between inputs.
[[nodiscard]] std::optional<session::Fault> hide_targets(const EntityRegistry& registry, SeenNow& sight,
                                                         std::span<std::byte> edit, std::vector<Entity>& replaced);

/// Puts the replaced entities back into a fault.
void show_replaced(session::Fault& fault, const std::vector<Entity>& replaced);

/// Returns the receipt without counts that include entities that the edit does not name, and
/// without those that depend on components that the user may not see. Must be called on the world
/// thread.
[[nodiscard]] Receipt visible_receipt(const EntityRegistry& registry, SeenNow& sight, const Receipt& receipt,
                                      BatchView edit);

}  // namespace muster
