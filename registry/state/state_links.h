// Checks that links are consistent: parents, and the children in their lists.
#pragma once

#include <optional>

#include "registry/state/state.h"
#include "registry/storage/hierarchy.h"

namespace muster {

/// Returns the first fault: every child must have a living parent one level above and be in that
/// parent's list exactly once; lists must hold nothing else; and an index without children,
/// siblings or a living entity must have no links, because a new entity of that index starts
/// without any. Every link must be an index of `storage`.
std::optional<StateError> check_links(const Storage& storage, const Hierarchy& hierarchy);

}  // namespace muster
