// The handlers, by subject. Internal to the demo: install() subscribes them.
#pragma once

#include <memory>

#include "examples/skirmish/field.h"
#include "registry/entity_registry.h"

namespace skirmish {

/// Deploy, Reinforce.
void add_deploy(muster::EntityRegistry& registry, muster::Handlers& handlers);
/// Update: gather, choose a foe, march; MarchTo, Enlist.
void add_squads(muster::EntityRegistry& registry, muster::Handlers& handlers, const std::shared_ptr<Field>& field);
/// FindContacts, Collision.
void add_contacts(muster::EntityRegistry& registry, muster::Handlers& handlers);
/// Update: weapons and towers shoot; Engage, MoveTower.
void add_fire(muster::EntityRegistry& registry, muster::Handlers& handlers);
/// Damage, Died, Destroy, UnitLost, SquadLost.
void add_losses(muster::EntityRegistry& registry, muster::Handlers& handlers);

/// The resource that handlers name in their external reads and writes.
inline constexpr const char* field_resource = "skirmish.field";

/// Groups of bodies for the grid, as bits.
constexpr std::uint32_t group_of(Team team) noexcept { return team == Team::red ? 1 : 2; }
constexpr std::uint32_t enemy_of(Team team) noexcept { return team == Team::red ? 2 : 1; }

}  // namespace skirmish
