// Handlers that several benchmarks measure.
#pragma once

#include "bench/bench.h"
#include "schema/muster.h"

namespace bench {

inline void on_hit(const Hit& hit, Mass& mass) { mass.value += hit.amount; }
/// Position: a row at a time, or Spot: so narrow that compilers do several rows at once.
template <class P>
void move(const muster::Update& update, P& position, const Velocity& velocity) {
  position.x += velocity.x * update.dt;
  position.y += velocity.y * update.dt;
}

}  // namespace bench
