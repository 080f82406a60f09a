// expect: no viable conversion .*'muster::Text'|could not convert .*'muster::Text'
// A hash is not a text by accident: the conversion must be written.
#include "schema/builtin.h"

muster::Text spelled(std::uint64_t hash) { return muster::Text{hash}; }
#ifdef VIOLATION
muster::Text unspelled(std::uint64_t hash) { return hash; }
#endif
