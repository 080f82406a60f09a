// expect: rows may lack an enableable component, and a span has all of them
#include "registry/entity_registry.h"
#include "tests/registry/enableable.h"

muster::Subscription row(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const ward::Hit&, ward::Shield&) {});
}
#ifdef VIOLATION
muster::Subscription rows(muster::EntityRegistry& registry) {
  return registry.subscribe("", [](const ward::Hit&, std::span<ward::Shield>) {});
}
#endif
