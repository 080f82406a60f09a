// The bounds of cascades that a registry's state has.
#pragma once

#include "registry/host.h"
#include "registry/state/state.h"

namespace muster::test {

/// Takes the state out of the registry to look, and puts it back.
inline CascadeBounds bounds_of(EntityRegistry& registry) {
  RegistryState state = registry.host().make_state();
  require(registry.host().swap_state(state).has_value(), "the state does not come out");
  const CascadeBounds bounds = state.bounds;
  require(registry.host().swap_state(state).has_value(), "the state does not go back");
  return bounds;
}

}  // namespace muster::test
