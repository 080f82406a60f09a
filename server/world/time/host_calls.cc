#include "server/world/time/host_calls.h"

#include "registry/entity_registry.h"
#include "registry/host.h"

namespace muster {

void HostCalls::begin(const char* what, const EntityRegistry& registry) {
  const std::thread::id self = std::this_thread::get_id();
  std::thread::id owner;
  if (!owner_.compare_exchange_strong(owner, self) && owner != self)
    fatal(std::string(what) +
          ": called on another thread than the first next_frame or poll. A world belongs to one thread; others put "
          "messages into a lane of its inbox (Inbox::open_lane)");
  if (const auto work = registry.host().at_work())
    fatal(std::string(what) + ": called inside " +
          (work->handler.empty() ? std::string("a handler") : "handler \"" + work->handler + "\"") +
          ". A host calls it between its pushes; what a handler wants to happen goes through its Outbox");
  if (idle_since_ns_.exchange(0, std::memory_order_relaxed) == 0)
    fatal(std::string(what) +
          ": called while a next_frame or poll of the same world is under way, by a visitor or another callback");
}

std::string HostCalls::absence(std::uint64_t now_ns) const {
  const std::uint64_t since_ns = idle_since_ns_.load(std::memory_order_relaxed);
  if (since_ns == 0 || now_ns < since_ns + patience_ns) return {};
  return "its program has called neither next_frame nor poll for " +
         std::to_string((now_ns - since_ns) / 1'000'000'000) + " s";
}

}  // namespace muster
