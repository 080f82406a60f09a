#include "examples/skirmish/field.h"

#include <algorithm>
#include <cmath>

namespace skirmish {

std::int32_t Field::cell_of(float metres) noexcept {
  // Far out, or no number at all (an edit can say anything): the outermost cells.
  const float cell = std::floor(metres / cell_m);
  return !(cell > -1e6f) ? -1'000'000 : cell > 1e6f ? 1'000'000 : static_cast<std::int32_t>(cell);
}

void Field::sort() {
  starts_.fill(0);
  for (const Seen& seen : seen_) ++starts_[bucket(seen.team, seen.cell_x, seen.cell_z) + 1];
  for (std::uint32_t i = 0; i < buckets; ++i) starts_[i + 1] += starts_[i];
  sorted_.resize(seen_.size());
  for (const Seen& seen : seen_) sorted_[starts_[bucket(seen.team, seen.cell_x, seen.cell_z)]++] = seen;
  // Each start has moved to where the next bucket begins.
  std::ranges::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
  starts_[0] = 0;
}

muster::Entity Field::nearest_enemy(Team own, const scene::Vec3& at, float range) const noexcept {
  const Team enemy = own == Team::red ? Team::blue : Team::red;
  muster::Entity nearest;
  float nearest_square = range * range;
  const auto look_at = [&](const Seen& seen) {
    const float dx = seen.x - at.x, dz = seen.z - at.z;
    const float square = dx * dx + dz * dz;
    if (square < nearest_square || (square == nearest_square && (!nearest || seen.squad < nearest))) {
      nearest = seen.squad;
      nearest_square = square;
    }
  };
  const std::int32_t x = cell_of(at.x), z = cell_of(at.z);
  const auto rings = static_cast<std::int32_t>(std::min(std::ceil(range / cell_m), 1000.0f));
  if (static_cast<std::int64_t>(2 * rings + 1) * (2 * rings + 1) > static_cast<std::int64_t>(buckets)) {
    for (const Seen& seen : seen_)
      if (seen.team == enemy) look_at(seen);
    return nearest;
  }
  // Ring by ring outwards; what is in a further ring is at least (ring - 1) cells away.
  for (std::int32_t ring = 0; ring <= rings; ++ring) {
    const float least = static_cast<float>(std::max(ring - 1, 0)) * cell_m;
    if (nearest && least * least > nearest_square) break;
    for (std::int32_t dz = -ring; dz <= ring; ++dz) {
      const std::int32_t step = dz == -ring || dz == ring || ring == 0 ? 1 : 2 * ring;
      for (std::int32_t dx = -ring; dx <= ring; dx += step) {
        const std::uint32_t b = bucket(enemy, x + dx, z + dz);
        for (std::uint32_t i = starts_[b]; i < starts_[b + 1]; ++i)
          if (sorted_[i].cell_x == x + dx && sorted_[i].cell_z == z + dz) look_at(sorted_[i]);
      }
    }
  }
  return nearest;
}

}  // namespace skirmish
