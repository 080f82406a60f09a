// Handlers that several benchmarks measure.
#pragma once

#include "bench/bench.h"
#include "schema/muster.h"

namespace bench {

inline void on_hit(const Hit& hit, Mass& mass) { mass.value += hit.amount; }
inline void move(const muster::Update& update, Position& position, const Velocity& velocity) {
  position.x += velocity.x * update.dt;
  position.y += velocity.y * update.dt;
}

}  // namespace bench
