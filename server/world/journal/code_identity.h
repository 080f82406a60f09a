// Identifies the code that handles inputs. Only the same code can replay a journal exactly.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class EntityRegistry;

/// Returns a string that combines `host` (WorldOptions::code), the program's build id (if the
/// linker created one), the compiler, the architecture, and a digest of all handlers in order,
/// including disabled ones. If two programs have equal strings, they produce the same results from
/// the same inputs, provided that `host` covers everything else that matters, such as files that
/// the program reads and libraries that it loads. Must be called on the world thread.
std::string code_identity(std::string_view host, const EntityRegistry& registry);

/// Returns the part of an identity that stands for the handlers: their number, and a digest of
/// their names, messages and order. It is the same in another build of the same sources.
std::string_view handlers_part(std::string_view identity) noexcept;

}  // namespace muster
