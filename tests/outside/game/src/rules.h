// What happens in the game. Muster's headers come first here, the game's own in rules.cc.
#pragma once

#include <muster/messages.h>
#include <muster/registry.h>

#include "game.h"
#include "messages/batch.h"
#include "registry.h"
#include "registry/entity_registry.h"
#include "schema/muster.h"
#include "schema/table.h"
#include "world.h"

namespace game {

muster::Handlers install(muster::EntityRegistry& registry);

constexpr int own_headers = own::world + own::registry + own::schema_table + own::schema_muster + own::messages_batch +
                            own::registry_entity_registry;

}  // namespace game
