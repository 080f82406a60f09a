// The ids of random programs, whose creations may be refused.
#pragma once

#include "registry/entity_registry.h"

namespace muster::test {

inline muster::Entity id_or_nil(const muster::Created& made) { return made ? made.or_stop() : muster::Entity{}; }

}  // namespace muster::test
