// The demo: two armies of squads that march and fight (schema/skirmish.fbs).
//
//   Deploy      -> armies, towers, a Reinforce per squad                                        deploy.cc
//   Update      -> squads are gathered, choose a foe, march; weapons and towers shoot           squads.cc, fire.cc
//   Damage      -> Health runs out: Died to everyone above, Destroy                             losses.cc
//   Destroy     -> UnitLost to the squad, SquadLost to the army, a timer, Reinforce             losses.cc, deploy.cc
#pragma once

#include "registry/subscription.h"

namespace muster {
class EntityRegistry;
}

namespace skirmish {

/// Once per registry. What the handlers share lives and ends with them; two registries share nothing.
[[nodiscard]] muster::Handlers install(muster::EntityRegistry& registry);

}  // namespace skirmish
