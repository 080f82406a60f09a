// Makes handlers from type ids that are known at run time alone: for plugins in other languages, scripts and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// One call of a dynamic handler; valid during it.
struct DynamicCall {
  Entity self;                         ///< nil where the handler asks for nothing and the message is a pass
  std::span<const std::byte> message;  ///< the POD or the FlatBuffer; empty where it follows a change
  std::span<std::byte* const> values;  ///< per term, in order; null where absent, without value, or of a tag
  Outbox& outbox;
  Spawner& spawner;
};

/// What a dynamic handler asks for. Terms with Access::write must have source self.
struct DynamicShape {
  TypeId message = 0;
  std::vector<Term> terms = {};
  bool per_entity = true;  ///< of a handler without terms: whether it is called per entity, or once per pass
  bool pushes = true;
};

class TypesKnown;
/// Throws SetupError for types that `types` does not know, and for terms that write and have another source than self.
std::unique_ptr<Handler> make_dynamic_handler(TypesKnown& types, std::string name, DynamicShape shape,
                                              std::function<void(const DynamicCall&)> call, HandlerOptions options);

}  // namespace muster
