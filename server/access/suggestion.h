// Finds the name that a person may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// If one of the names resembles `name`, returns a sentence that suggests it, preceded by "; ".
/// Otherwise, returns an empty string.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace muster
