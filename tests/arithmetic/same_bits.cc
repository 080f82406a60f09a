// Bodies on their ways around a mass, long enough that one other bit changes all. `same_bits` prints the
// hash of their world, `same_bits HASH` compares it.
#include <muster/registry.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "bodies.h"

namespace {

void pull(const bodies::Pull& pull, bodies::Body& body) {
  bodies::Vector &at = body.position, &v = body.velocity;
  const float square = at.x * at.x + at.y * at.y + at.z * at.z + 0.05f;
  const float strength = body.mass / (square * std::sqrt(square)) * pull.dt;
  v.x -= at.x * strength + v.y * 0.001f;
  v.y -= at.y * strength - v.x * 0.001f;
  v.z -= at.z * strength;
  at.x += v.x * pull.dt;
  at.y += v.y * pull.dt;
  at.z += v.z * pull.dt;
  body.heat =
      body.heat * 0.875 + static_cast<double>(v.x) * v.y - static_cast<double>(at.z) / (body.heat * body.heat + 3);
  // Towards zero through the denormal numbers.
  body.mass = body.mass > 1e-30f ? body.mass * 0.5f + 1e-3f * std::abs(at.x) : body.mass * 0.5f;
}

/// From -1 to 1.
float drawn(std::uint32_t& seed) {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<float>(static_cast<std::int32_t>(seed >> 8) - (1 << 23)) / static_cast<float>(1 << 23);
}

}  // namespace

int main(int argc, char** argv) {
  muster::EntityRegistry registry;
  const muster::Handlers handlers(registry.subscribe("bodies.pull", pull));
  std::uint32_t seed = 7;
  for (int i = 0; i < 300; ++i) {
    bodies::Body body;
    body.position = {drawn(seed), drawn(seed), drawn(seed)};
    body.velocity = {drawn(seed), drawn(seed), drawn(seed)};
    body.mass = i % 10 == 0 ? 1e-37f : 1 + drawn(seed);
    body.heat = static_cast<double>(drawn(seed)) / 3;
    registry.create(body);
  }
  for (int i = 0; i < 300; ++i) registry.push(bodies::Pull{.dt = 1.0f / 60});
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(registry.hash()));
  if (argc < 2) return std::puts(hash), 0;
  const bool same = std::strcmp(hash, argv[1]) == 0;
  if (!same) std::printf("the hash is %s, not %s\n", hash, argv[1]);
  std::printf("%d passed, %d failed\n", same, !same);
  return same ? 0 : 1;
}
