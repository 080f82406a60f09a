// expect: only an entity's own components can be written
// Of another entity a handler reads; who wants to change it pushes to it.
#include <muster/registry.h>

muster::Subscription spelled(muster::EntityRegistry& registry) {
  return registry.subscribe("x", [](const muster::Rename&, muster::Lookup<const muster::Name>) {});
}
#ifdef VIOLATION
muster::Subscription unspelled(muster::EntityRegistry& registry) {
  return registry.subscribe("y", [](const muster::Reparent&, muster::Other<muster::Name>) {});
}
#endif
