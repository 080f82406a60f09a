// The demo: two armies of squads that march and fight (schema/skirmish.fbs).
//
//   Deploy        -> armies, towers, a Reinforce per squad                                      deploy.cc
//   Reinforce     -> a squad is spawned as its template says, as one message, and enlisted      deploy.cc, squads.json
//   Update        -> squads are gathered, choose a foe, march; weapons and towers shoot         squads.cc, fire.cc
//   FindContacts  -> four times a second: the grid tells squads and towers who is in reach      contacts.cc
//   Damage        -> Health runs out: Died to everyone above, Destroy                           losses.cc
//   Destroy       -> UnitLost to the squad, SquadLost to the army, a timer, Reinforce           losses.cc, deploy.cc
//
// Its managers are those of examples/managers: a grid that finds contacts, and the meshes that the
// units are drawn with.
#pragma once

#include "registry/handlers/subscription.h"

namespace muster {
class EntityRegistry;
}

namespace skirmish {

/// Once per registry. Shared objects of the handlers live as long as they do. Registries share
/// nothing.
[[nodiscard]] muster::Handlers install(muster::EntityRegistry& registry);

/// Once in a world's life, before its first Deploy: defines the templates of its squads
/// (squads.json).
void define_squads(muster::EntityRegistry& registry);

}  // namespace skirmish
