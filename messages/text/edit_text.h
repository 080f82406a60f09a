// What edits do, as people read it: the built-in messages that name fields and components by their numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "messages/value_text.h"

namespace muster {

/// "game.Health.value = 42", with " where it is 40" of a SetFieldIf; "component=game.Health" of a Remove. No value where the message
/// is another one, or names what the types do not have.
std::optional<std::string> edit_text(const TypeTable& types, TypeId message, const std::byte* value,
                                     ValueReferences& references);

}  // namespace muster
