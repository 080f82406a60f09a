// Saved state to tamper with, and what must hold of whatever a registry accepts.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/model/state_rows.h"

namespace naive {

/// A world with a bit of everything: a tree, names, several archetypes and chunks, templates, what managers hold, freed,
/// reserved, granted and waiting things.
StateRows some_state(std::uint64_t seed);

/// Loads; where that works, the registry must live on: deliver, save, and load again to the same. Empty, or what is wrong:
/// of rows that were not accepted the error's text. `briefly`: with less of everything, for a fuzzer.
std::string load_and_live(const StateRows& rows, bool& accepted, bool briefly = false);

/// What an error's text begins with.
const std::set<std::string>& state_sections();

}  // namespace naive
