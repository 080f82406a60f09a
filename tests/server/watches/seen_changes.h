// What changed in a registry since it was looked at last, as those who watch it find out: one look after the other is taken in.
#pragma once

#include <algorithm>
#include <utility>

#include "server/mirror/looks.h"
#include "server/mirror/seen_world.h"

namespace muster::testing {

class Changes {
 public:
  using Found = SeenWorld::Found;
  using Values = SeenWorld::Values;

  explicit Changes(EntityRegistry& registry) : looks(registry) {}
  /// From now on; what changed before is found by the next look().
  void want(TypeId component) {
    looks.want(component);
    take();
  }
  void want_structure() {
    structure = true;
    take();
    found.structure.clear();
  }
  const Found& look() {
    take();
    told = std::exchange(found, {});
    return told;
  }
  std::size_t bytes() const { return world.bytes(); }

  Looks looks;
  SeenWorld world;

 private:
  void take() {
    const Found& now = world.take_in(*looks.take());
    CHECK(looks.is_free());
    const auto add = [](std::vector<Entity>& to, const std::vector<Entity>& more) {
      to.insert(to.end(), more.begin(), more.end());
      sort_unique(to);
    };
    for (const Values& values : now.values) {
      const auto known = std::ranges::find(found.values, values.component, &Values::component);
      if (known == found.values.end())
        found.values.push_back(values);
      else
        add(known->entities, values.entities);
    }
    if (structure) add(found.structure, now.structure);
  }

  bool structure = false;
  Found found, told;
};

}  // namespace muster::testing
