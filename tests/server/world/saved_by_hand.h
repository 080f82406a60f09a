// Options of worlds whose test itself decides when they are saved.
#pragma once

#include <utility>

#include "server/world/world.h"

namespace muster::test {

/// Returns the options without journal and automatic saves: everything since the last save is
/// lost with the world.
inline WorldOptions saved_by_hand(WorldOptions options = {}) {
  options.durability = Durability::checkpoint;
  options.autosave = {};
  return options;
}

}  // namespace muster::test
