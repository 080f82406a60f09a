// Takes snapshots of subtrees that are about to be destroyed.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "registry/history/rows_now.h"

namespace muster::history {

/// Returns a part for each of the living targets of a Destroy, in order. Targets that an earlier
/// one destroys have none. The time is proportional to the number of destroyed rows.
std::vector<Part> destroyed_parts(const RowsNow& now, std::span<const Entity> targets);

}  // namespace muster::history
