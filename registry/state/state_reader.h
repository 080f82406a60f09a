// Reads saved rows into a state outside of its registry. Private to registry/*.cc.
#pragma once

#include <expected>

#include "registry/apply/registry_state.h"
#include "registry/handlers/types_known.h"
#include "registry/state/conversion.h"
#include "registry/state/state.h"

namespace muster {

struct ReadParts {
  TypesKnown& types;               ///< learns what saved types are not known yet; see TypesKnown::take_back
  const Conversions* conversions;  ///< the game's own
  bool insist_on_bounds;           ///< refuse rows that were saved with other bounds of cascades than `into` has
};

/// Reads a saved registry into an empty state, without its managers and its values of runtime
/// components: managers' rows are kept in RegistryState::managers, values are default-constructed.
/// On an error `into` is to be thrown away.
[[nodiscard]] std::expected<LoadReport, StateError> read_state(StateSource& source, RegistryState& into,
                                                               const ReadParts& parts);

}  // namespace muster
