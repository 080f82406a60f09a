// Values that a schema allows: of every kind of field, in their ranges, and at the ranges' ends.
#pragma once

#include <functional>

#include "schema/descriptor.h"
#include "tests/abuse/knowledge.h"

namespace muster::abuse {

/// Fills `at`, of the type's size, whatever was there.
void draw_value(Random& random, const Knowledge& known, const TypeDescriptor& type,
                const std::function<Entity()>& entity, std::byte* at);

}  // namespace muster::abuse
