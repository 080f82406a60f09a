// Identifies the code that handles inputs. Only the same code replays a journal exactly.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class EntityRegistry;

/// Returns a text with `host` (WorldOptions::code), the program's build id (if its linker made
/// one), compiler, architecture, and a digest of all handlers in their order, also those that are
/// off. Programs with equal texts handle equal inputs equally, if `host` covers everything else
/// that matters: files that the program reads, libraries that it loads. World thread.
std::string code_identity(std::string_view host, const EntityRegistry& registry);

}  // namespace muster
