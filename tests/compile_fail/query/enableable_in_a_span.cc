// expect: some rows may lack an enableable component, but a span covers all rows
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
