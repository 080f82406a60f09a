// Reads saved rows into a state that is not yet part of a registry. Private to registry/*.cc.
#pragma once

#include <expected>

#include "registry/apply/registry_state.h"
#include "registry/handlers/types_known.h"
#include "registry/state/conversion.h"
#include "registry/state/state.h"

namespace muster {

struct ReadParts {
  TypesKnown& types;               ///< receives unknown saved types; see TypesKnown::take_back
  const Conversions* conversions;  ///< the game's own conversions

  /// If true, refuses a state that was saved with cascade limits other than those of `into`.
  bool insist_on_bounds;
};

/// Reads a saved registry into an empty state, except for managers and the values of runtime
/// components. The rows of managers are stored in RegistryState::managers, and runtime values are
/// default-constructed. On error, the caller must discard `into`.
[[nodiscard]] std::expected<LoadReport, StateError> read_state(StateSource& source, RegistryState& into,
                                                               const ReadParts& parts);

/// Says how the limits on cascades in a saved state differ from those that the host requires.
std::string other_bounds(const CascadeBounds& saved, const CascadeBounds& required);

}  // namespace muster
