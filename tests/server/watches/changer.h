// A world that changes at random, and random watches of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/server/arena.h"
#include "tests/server/watches/follower.h"
#include "tests/support/random.h"

namespace muster::testing {

using test::Random;

inline constexpr TypeId health_id = TypeTraits<arena::Health>::id;
inline constexpr TypeId position_id = TypeTraits<arena::Position>::id;
inline constexpr TypeId hidden_id = TypeTraits<arena::Hidden>::id;

/// A registry with watches, as a desk has them.
struct Watched {
  EntityRegistry registry;
  Watches watches{registry};

  Watched() {
    registry.add_type<arena::Health>();
    registry.add_type<Set>();
  }
};

/// Random changes of structure and values.
class Changer {
 public:
  Changer(EntityRegistry& registry, std::uint64_t seed) : registry_(registry), random_(seed) {
    // Indices are used again from here on.
    for (const Entity e : registry.create_many(1500, arena::Health{})) registry.destroy(e);
  }
  Random& random() { return random_; }
  Entity someone() {
    std::erase_if(living_, [&](Entity e) { return !registry_.alive(e); });
    return living_.empty() ? Entity{} : random_.one_of(living_);
  }
  Entity someone_or_nil() { return random_.percent(15) ? Entity{} : someone(); }

  void step() {
    const Entity e = someone();
    switch (random_.below(e ? 14 : 1)) {
      case 0:
      case 1:
      case 2: return create();
      case 3: living_.size() > 60 ? static_cast<void>(registry_.destroy(e)) : create(); return;
      case 4:
      case 5:
      case 6: {
        const Entity parent = someone_or_nil();
        Entity before = random_.percent(50) ? registry_.first_child(parent) : Entity{};
        for (std::uint32_t i = random_.small(3); before && i > 0; --i) before = registry_.next_sibling(before);
        registry_.reparent(e, parent, before == e ? Entity{} : before);
        return;
      }
      case 7: registry_.rename(e, random_.percent(30) ? "" : "n" + std::to_string(random_.below(40))); return;
      case 8: registry_.set(e, arena::Health{.value = static_cast<float>(random_.below(100))}); return;
      case 9: registry_.set(e, arena::Position{1, 2, static_cast<double>(random_.below(100))}); return;
      case 10: registry_.set(e, arena::Hidden{}); return;
      case 11: registry_.remove<arena::Health>(e); return;
      case 12: registry_.remove<arena::Hidden>(e); return;
      default: registry_.remove<arena::Position>(e); return;
    }
  }

 private:
  void create() {
    const std::string name = random_.percent(60) ? "n" + std::to_string(random_.below(1000)) : "";
    const Created made = random_.percent(50)
                             ? registry_.create_under(someone_or_nil(), name, arena::Health{})
                             : registry_.create_under(someone_or_nil(), name, arena::Position{}, arena::Hidden{});
    if (made) living_.push_back(made);
  }

  EntityRegistry& registry_;
  Random random_;
  std::vector<Entity> living_;
};

/// A random watch.
inline session::Follow something(Changer& changer) {
  Random& random = changer.random();
  session::Follow what;
  const auto entities = [&](std::uint64_t most) {
    std::vector<Entity> some;
    for (std::uint64_t i = random.below(most); i > 0; --i)
      if (const Entity e = changer.someone(); e && std::ranges::find(some, e) == some.end()) some.push_back(e);
    return some;
  };
  what.world = random.percent(40);
  if (!what.world) what.entities = entities(6);
  what.subtree = random.percent(60);
  if (random.percent(40)) what.with.push_back(random.percent(50) ? health_id : hidden_id);
  if (random.percent(30)) what.without.push_back(position_id);
  what.structure = random.percent(40);
  what.values = random.percent(70);
  for (const TypeId component : {health_id, position_id, hidden_id})
    if (random.percent(50)) what.components.push_back(component);
  what.open = entities(12);
  if (random.percent(50)) what.open.push_back(Entity{});
  return what;
}

}  // namespace muster::testing
