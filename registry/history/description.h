// Describes a step to its user.
#pragma once

#include <string>

#include "registry/history/parts.h"
#include "registry/history/rows_now.h"

namespace muster {
class HistorySight;
}

namespace muster::history {

/// Describes what was done by a step to undo, or what a step to redo will do, by its first part:
/// "set game.Health.value of tower", "destroy orc and 2 more". Unless `sight` is null, contains no
/// current names of entities and no types that it does not see.
std::string description(const Step& step, const RowsNow& now, const HistorySight* sight = nullptr);

}  // namespace muster::history
