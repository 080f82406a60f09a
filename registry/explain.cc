#include "registry/explain.h"

#include "registry/delivery/schedule.h"
#include "registry/host.h"

namespace muster {

std::string pass_dot(const EntityRegistry& registry, TypeId message) {
  const MessageRoute* route = registry.host().handlers().route(message);
  return route ? schedule_as_dot(*route, registry.types()) : std::string();
}
std::string pass_groups(const EntityRegistry& registry, TypeId message) {
  const MessageRoute* route = registry.host().handlers().route(message);
  return route ? schedule_as_groups(*route, registry.types()) : std::string();
}
std::string why_apart(const EntityRegistry& registry, TypeId message, std::string_view first, std::string_view second) {
  const MessageRoute* route = registry.host().handlers().route(message);
  return route ? muster::why_apart(*route, registry.types(), first, second) : std::string();
}

}  // namespace muster
