// Component types by the hundred, which this program was not compiled with: more than any of the four systems had room for.
#pragma once

#include "registry/entity_registry.h"

constexpr int part_count = 330;

/// Makes them all known, from a binary schema.
void add_parts(muster::EntityRegistry& registry);
muster::TypeId part_id(int n);
/// Whether the entity has part n, with its default value.
bool has_part(const muster::EntityRegistry& registry, muster::Entity e, int n);
/// All of them, in one message.
muster::Receipt give_parts(muster::EntityRegistry& registry, muster::Entity e);
