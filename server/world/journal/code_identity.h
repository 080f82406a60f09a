// Which code decides what an input does: a journal is replayed exactly by the same code alone.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class EntityRegistry;

/// What the host says of itself (WorldOptions::code), the build of the running program (its linker's build id, where it has one),
/// compiler, architecture, and a digest of the handlers by message in the order in which they run, one that is off included. Two
/// programs of the same text do the same with the same inputs, unless the host says too little of what else decides: files that it
/// reads, libraries that it loads. Owner's thread.
std::string code_identity(std::string_view host, const EntityRegistry& registry);

}  // namespace muster
