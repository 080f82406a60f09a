// A world for the measurements of the editor's page: groups of 10,000 boxes. Whoever is given Walking moves every tick.
#include <muster/plugin.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "bench/editor/crowd.h"
#include "schema/scene.h"

namespace {

constexpr std::uint32_t groups = 10;
constexpr std::uint32_t in_a_group = 10'000;
constexpr std::uint32_t in_a_row = 100;
constexpr float apart = 1.6f;

void walk(const muster::Update& update, crowd::Walking& walking, scene::Transform& transform) {
  walking.angle += update.dt;
  transform.position.x += std::cos(walking.angle) * update.dt;
  transform.position.z += std::sin(walking.angle) * update.dt;
}

muster::Handlers install(muster::EntityRegistry& registry) { return {registry.subscribe<walk>("crowd.walk")}; }

void begin(muster::EntityRegistry& registry) {
  for (std::uint32_t group = 0; group < groups; ++group) {
    const float left = static_cast<float>(group) * (in_a_row + 10) * apart;
    const muster::Entity parent =
        registry.create("group-" + std::to_string(group), scene::Transform{.position = {.x = left}});
    for (std::uint32_t i = 0; i < in_a_group; ++i) {
      const float x = static_cast<float>(i % in_a_row) * apart, z = static_cast<float>(i / in_a_row) * apart;
      const float shade = static_cast<float>(i % 7) / 10;
      registry
          .create_under(parent, "box-" + std::to_string(i), scene::Transform{.position = {.x = x, .z = z}},
                        scene::Shape{.size = {.x = 1, .y = 1, .z = 1}},
                        scene::Color{.value = {.r = 0.3f + shade, .g = 0.4f, .b = 0.9f - shade}})
          .or_stop();
    }
  }
}

}  // namespace

extern "C" const MusterPlugin* muster_plugin() {
  static constexpr MusterPlugin plugin = muster::plugin_of<install, begin>("crowd", "crowd 1");
  return &plugin;
}
