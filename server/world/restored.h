// Describes past states of a world (World::restore).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// A range of past states, which begins with a save.
struct KeptPast {
  std::uint64_t checkpoint = 0;  ///< number of the save
  std::string saved;             ///< its time, such as "2026-11-21T00:45:17Z"
  std::uint64_t tick = 0, last_tick = 0;
};

/// Selects a past state.
struct RestoreTarget {
  /// The state before the next tick after this one. If the world has had this tick several times,
  /// the newest one is meant.
  std::optional<std::uint64_t> tick = {};
  /// The newest save up to this time, if `tick` has no value.
  std::string time = {};
};

/// The result of World::restore.
struct Restored {
  std::uint64_t tick = 0;
  std::uint64_t checkpoint = 0;  ///< number of the save from which the state was made
  std::string saved = {};        ///< time of that save
  std::uint64_t inputs = 0;      ///< number of inputs that were done again
};

}  // namespace muster
