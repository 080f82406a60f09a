// Finds fields that cannot be told apart by their ids.
#pragma once

#include <optional>
#include <string>

#include "schema/load.h"

namespace muster::schemac {

/// Returns a sentence about two parts of a struct whose paths, such as "position.x" and "slots[3]",
/// have the same hash32, or no value if there are none. Messages such as SetField name a part by
/// this hash.
std::optional<std::string> same_field_id(const Schema& schema);

}  // namespace muster::schemac
