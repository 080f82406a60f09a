// Whether saved links fit one another: parents, and which children stand in a list.
#pragma once

#include <optional>

#include "registry/state/state.h"
#include "registry/storage/hierarchy.h"

namespace muster {

/// The first fault of what was read: every child has a living parent one level above it and is in that parent's list once,
/// lists hold nothing else, and an entity without children, siblings or life has no links: an index that is used later
/// begins without. Every link must be an index of `storage`.
std::optional<StateError> check_links(const Storage& storage, const Hierarchy& hierarchy);

}  // namespace muster
