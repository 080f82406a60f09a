// expect: Other<T> needs a message struct with a muster.Entity field named `other`, or with only one such field
// Reparent names two entities, and none of them is `other`.
#include <muster/registry.h>

muster::Subscription spelled(muster::EntityRegistry& registry) {
  return registry.subscribe("x", [](const muster::Rename&, const muster::Name&) {});
}
#ifdef VIOLATION
muster::Subscription unspelled(muster::EntityRegistry& registry) {
  return registry.subscribe("y", [](const muster::Reparent&, muster::Other<const muster::Name>) {});
}
#endif
