// How much two names differ, for hints about misspelt ones.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// Returns how many changes make `b` of `a`. A change adds, removes or replaces a letter, or swaps
/// two neighbours. The time grows with the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace muster
