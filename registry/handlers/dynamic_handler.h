// Makes handlers from type ids that are known only at run time. For plugins in other languages,
// scripts and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// One call of a dynamic handler; valid during the call.
struct DynamicCall {
  /// Nil if the handler has no terms and the message is a pass.
  Entity self;
  std::span<const std::byte> message;  ///< the POD or the FlatBuffer; empty for a change

  /// One pointer per term, in order. Null if the component is absent, has no value, or is a tag.
  std::span<std::byte* const> values;
  Outbox& outbox;
  Spawner& spawner;
};

/// The message and the terms of a dynamic handler. Terms with Access::write must have source
/// `self`.
struct DynamicShape {
  TypeId message = 0;
  std::vector<Term> terms = {};
  bool per_entity = true;  ///< without terms: called per entity, or else once per pass
  bool pushes = true;
};

class TypesKnown;
/// Throws SetupError for types that `types` does not know, and for terms that write with a source
/// other than self.
std::unique_ptr<Handler> make_dynamic_handler(TypesKnown& types, std::string name, DynamicShape shape,
                                              std::function<void(const DynamicCall&)> call, HandlerOptions options);

}  // namespace muster
