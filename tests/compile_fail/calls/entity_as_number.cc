// expect: no viable conversion .*'muster::Entity'|cannot convert 'muster::Entity'
// An id is no number: it converts to bool only where a condition asks, and to bits only by name.
#include "schema/builtin.h"

std::uint64_t spelled(muster::Entity entity) { return entity ? entity.bits() : 0; }
#ifdef VIOLATION
std::uint64_t unspelled(muster::Entity entity) { return entity; }
#endif
