#include "registry/handlers/unkept.h"

#include <algorithm>
#include <string>

#include "registry/handlers/handler_order.h"
#include "schema/quoted.h"

namespace muster {
namespace {

bool writes(const Handler& handler) noexcept {
  return std::ranges::find(handler.terms, Access::write, &Term::access) != handler.terms.end();
}

/// True if a call of the handler may change saved state.
bool changes_the_world(const Handler& handler) noexcept {
  return handler.pushes || handler.spawns || handler.of_manager || writes(handler);
}

/// Returns a resource that `writing` writes and `names` declares, or null.
const std::string* meet(const Handler& writing, const Handler& names) noexcept {
  for (const std::string& resource : writing.options.external_writes)
    for (const auto* named : {&names.options.external_reads, &names.options.external_writes})
      if (std::ranges::find(*named, resource) != named->end()) return &resource;
  return nullptr;
}

[[noreturn]] void refuse_use(const Handler& changes, const std::string& resource, const Handler& leaves) {
  throw SetupError(
      "handler " + quoted(changes.name, '"') + " changes the world and uses " + quoted(resource, '"') +
      ", which handler " + quoted(leaves.name, '"') +
      " writes from a message that no journal records (journal: \"never\"): a replay would give a different "
      "world");
}

}  // namespace

void UnkeptHandlers::check(const Handler& handler, const TypeDescriptor& message, std::span<Handler* const> all) const {
  if (!is_unkept(message)) {
    if (handlers_.empty() || !changes_the_world(handler)) return;
    for (const Handler* const unkept : handlers_) {
      ++steps_;
      if (const std::string* const resource = meet(*unkept, handler)) refuse_use(handler, *resource, *unkept);
    }
    return;
  }
  const auto refuse = [&](const std::string& what) {
    throw SetupError("handler " + quoted(handler.name, '"') + " of " + message.name + " " + what +
                     ", but no journal records that message (journal: \"never\"), so its handlers may only read");
  };
  if (handler.pushes || handler.spawns) refuse("takes an Outbox or a Spawner");
  if (writes(handler)) refuse("writes a component");
  if (handler.of_manager) refuse("may change a manager, whose state is saved");
  if (handler.has_state && handler.options.external_reads.empty() && handler.options.external_writes.empty())
    refuse("has captures or an object but does not declare what it touches (external_reads, external_writes)");
  if (handler.options.external_writes.empty()) return;
  for (const Handler* const other : all) {
    ++steps_;
    if (!changes_the_world(*other)) continue;
    if (const std::string* const resource = meet(handler, *other)) refuse_use(*other, *resource, handler);
  }
}

}  // namespace muster
