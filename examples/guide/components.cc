#include <muster/registry.h>

#include <memory>
#include <string_view>

#include "examples/guide/guide.h"
#include "examples/guide/guide_types.h"

// guide: a runtime component
struct Voice {
  std::unique_ptr<int> sound;  // whatever can be moved without throwing
};
template <>
struct muster::RuntimeTraits<Voice> {
  static constexpr std::string_view name = "guide.Voice";
};
// guide: end

namespace guide {

void components() {
  using muster::Entity;
  // guide: entities
  muster::EntityRegistry registry;
  const Entity orc = registry.create("orc", Health{.value = 30}, Position{});
  const Entity sword = registry.create_under(orc, "sword", Position{.x = 0.5f});
  registry.set(orc, Armor{}, Burning{});  // adds, or overwrites
  registry.remove<Burning>(orc);
  registry.rename(sword, "axe");

  require(registry.get<Health>(orc).value == 30);   // it must be there
  require(registry.find<Armor>(sword) == nullptr);  // it may be missing
  require(registry.find_path("/orc/axe") == sword);
  require(registry.parent(sword) == orc);
  registry.each<const Position>([&](Entity e, const Position& at) { require(e == orc || at.x == 0.5f); });

  registry.destroy(orc);  // and everything below it
  require(!registry.alive(sword));
  // guide: end

  // guide: runtime values
  registry.add_runtime_type<Voice>([](Voice& voice, Entity) { voice.sound = std::make_unique<int>(0); });
  const Entity bell = registry.create("bell", muster::Has<Voice>{});
  require(registry.find<Voice>(bell) != nullptr);
  // guide: end
}

}  // namespace guide
