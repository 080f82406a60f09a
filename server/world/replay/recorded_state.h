// Hashes of a state that a world had, with which a replay of its inputs is compared.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>

#include "registry/entity_registry.h"
#include "registry/state/state.h"

namespace muster {

struct RecordedState {
  std::uint64_t sequence = 0, tick = 0;               ///< of the last input in the state
  std::uint64_t hash = 0;                             ///< EntityRegistry::hash
  std::map<std::string, std::uint64_t> columns = {};  ///< a hash for each component, by its name
};

/// Hashes the rows of a saved state, without any handler or manager. Two states have the same
/// hashes if they were saved with the same types and are the same.
[[nodiscard]] std::expected<RecordedState, StateError> recorded_state(StateSource& source, std::uint64_t sequence,
                                                                      std::uint64_t tick);
/// Hashes what a registry would save now. Must be called on its thread, outside handlers.
[[nodiscard]] std::expected<RecordedState, StateError> recorded_state(const EntityRegistry& registry,
                                                                      std::uint64_t tick);

}  // namespace muster
