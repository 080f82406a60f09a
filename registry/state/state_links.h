// Checks that the links between parents and children are consistent.
#pragma once

#include <optional>

#include "registry/state/state.h"
#include "registry/storage/hierarchy.h"

namespace muster {

/// Returns the first inconsistency, or no value. Every child must have a living parent one level
/// above it and must appear exactly once in that parent's list. Lists must not contain anything
/// else. An index without a living entity, or without children and siblings, must not have the
/// corresponding links, because a new entity with that index starts without links. Every link must
/// be an index of `storage`.
std::optional<StateError> check_links(const Storage& storage, const Hierarchy& hierarchy);

}  // namespace muster
