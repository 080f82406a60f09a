// Reads saved rows into a state outside of its registry. Private to registry/*.cc.
#pragma once

#include <expected>

#include "registry/apply/registry_state.h"
#include "registry/handlers/types_known.h"
#include "registry/state/conversion.h"
#include "registry/state/state.h"

namespace muster {

struct ReadParts {
  TypesKnown& types;               ///< adds saved types that are unknown; see TypesKnown::take_back
  const Conversions* conversions;  ///< the game's own

  /// If true, refuses state that was saved with cascade bounds different from those of `into`.
  bool insist_on_bounds;
};

/// Reads a saved registry into an empty state, without managers and values of runtime components:
/// managers' rows go to RegistryState::managers, and values are default-constructed. On an error,
/// the caller must discard `into`.
[[nodiscard]] std::expected<LoadReport, StateError> read_state(StateSource& source, RegistryState& into,
                                                               const ReadParts& parts);

}  // namespace muster
