// Decides which names the worlds of a host may have. A world's name is the name of its folder, and
// part of its URL, where it is percent-encoded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::hosting {

constexpr std::size_t world_name_bytes_max = 100;

/// Returns the reason why a world may not have this name, as a sentence, or an empty string if it
/// may.
std::string why_not_a_world_name(std::string_view name);

/// Returns the name with all letters in lower case. `name` must be UTF-8. Two worlds of a host
/// never have names that are equal in this form.
std::string in_lower_case(std::string_view name);

/// Returns a name in quotation marks for a message. Invisible and invalid bytes are replaced, and a
/// long name is shortened.
std::string shown_name(std::string_view name);

}  // namespace muster::hosting
