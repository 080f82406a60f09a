// Values of ancestors that are far away.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "enableable.h"
#include "registry/entity_registry.h"
#include "tests/registry/game.h"

namespace far_ancestors_test {

using namespace muster;
using game::Count, game::Health;

namespace {

using Found = std::map<Entity, std::vector<float>>;

float value_of(const Health& health) { return health.value; }
float value_of(const ward::Aura& aura) { return aura.range; }
/// Walks to the top for each entity.
template <class T>
float at_or_above(const EntityRegistry& r, Entity e, bool with_self) {
  for (Entity at = with_self ? e : r.parent(e); at; at = r.parent(at))
    if (const T* const found = r.find<T>(at)) return value_of(*found);
  return -1;
}
float of_anchor(const EntityRegistry& r, Entity e) {
  for (Entity at = r.parent(e); at; at = r.parent(at))
    if (r.has<Count>(at)) return r.has<Health>(at) ? r.get<Health>(at).value : -1;
  return -1;
}
float up_to(const EntityRegistry& r, Entity e) {
  for (Entity at = e; at; at = r.parent(at)) {
    if (const Health* const found = r.find<Health>(at)) return found->value;
    if (r.has<Count>(at)) return -1;
  }
  return -1;
}

}  // namespace

TEST_CASE("a pass finds the values of far ancestors that a walk to the top finds, whatever changed before it") {
  EntityRegistry r;
  Found found;
  const auto s = r.subscribe(
      "look", [&](const Update&, Parent<const Health*> parent, SelfOrParent<const Health*> self_or_parent,
                  ParentWith<const Health*, Count> with, UpTo<const Health*, Count> up_to,
                  Parent<const ward::Aura*> enabled, SelfOrParent<const ward::Aura*> own_enabled, Entity self) {
        const auto value = [](const auto& from) { return from ? value_of(*from) : -1.0f; };
        found[self] = {value(parent), value(self_or_parent), value(with),
                       value(up_to),  value(enabled),        value(own_enabled)};
      });
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<Entity> all;
  for (int chain = 0; chain < 3; ++chain)
    for (int i = 0; i < 60; ++i) all.push_back(r.create_under(i ? all.back() : Entity{}, {}));
  for (int round = 0; round < 300; ++round) {
    const Entity e = all[below(all.size())];
    const float value = static_cast<float>(round);
    switch (below(8)) {
      case 0: r.set(e, Health{.value = value}); break;
      case 1: r.remove<Health>(e); break;
      case 2: r.set(e, Count{.hits = 1}); break;
      case 3: r.remove<Count>(e); break;
      case 4: r.set(e, ward::Aura{.range = value}); break;
      case 5: r.remove<ward::Aura>(e); break;
      case 6: r.reparent(e, all[below(all.size())]); break;
      case 7: break;  // the same again
    }
    found.clear();
    r.push(Update{});
    for (const Entity each : all) {
      const std::vector<float> walked{at_or_above<Health>(r, each, false),
                                      at_or_above<Health>(r, each, true),
                                      of_anchor(r, each),
                                      up_to(r, each),
                                      at_or_above<ward::Aura>(r, each, false),
                                      at_or_above<ward::Aura>(r, each, true)};
      if (found[each] != walked) FAIL("round " << round << ": another value for " << each.index);
    }
  }
}

}  // namespace far_ancestors_test
