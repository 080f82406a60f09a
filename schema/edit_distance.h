// Measures how much two names differ, to suggest corrections for misspelled names.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// Returns the smallest number of changes that turn `a` into `b`. A change adds, removes, or
/// replaces a letter, or swaps two adjacent letters. The run time is proportional to the product of
/// the two lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace muster
