// Creates handlers from type ids that are known only at run time. Intended for plugins in other
// languages, scripts, and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/handlers/handler.h"

namespace muster {

/// A call of a dynamic handler. Valid only during the call.
struct DynamicCall {
  /// The entity of the call. Nil if the handler has no terms and the message is a pass.
  Entity self;
  std::span<const std::byte> message;  ///< the POD or the FlatBuffer; empty for a change

  /// One pointer per term, in order. Null if the component is absent, has no value, or is a tag.
  std::span<std::byte* const> values;
  Outbox& outbox;
  Spawner& spawner;
  Log& log;
};

/// The message and terms of a dynamic handler. Terms with Access::write must have the source
/// `self`.
struct DynamicShape {
  TypeId message = 0;
  std::vector<Term> terms = {};
  bool per_entity = true;  ///< if there are no terms: call once per entity rather than per pass
  bool pushes = true;
  bool logs = false;  ///< true if the handler uses DynamicCall::log
};

class TypesKnown;
/// Throws SetupError if `types` does not know a type, or if a term with a source other than `self`
/// writes its component.
std::unique_ptr<Handler> make_dynamic_handler(TypesKnown& types, std::string name, DynamicShape shape,
                                              std::function<void(const DynamicCall&)> call, HandlerOptions options);

}  // namespace muster
