// What a handler takes from other entities than its own: the same for each row as a walk from the entity upwards finds, whatever rows
// stand before it.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "tests/registry/game.h"
#include "tests/support/id_or_nil.h"

using namespace muster;
using namespace game;

namespace {

constexpr std::uint64_t absent = ~std::uint64_t{0};
/// What was taken for whom.
using Taken = std::map<std::uint64_t, std::uint64_t>;

/// The Count of `e`, or its nearest ancestor's that has one, from `e` on; `ends` looks at each entity after its own Count was asked for.
std::uint64_t walk(const EntityRegistry& r, Entity e, const std::function<bool(Entity)>& ends = {}) {
  for (; e; e = r.parent(e)) {
    if (const Count* count = r.find<Count>(e)) return count->hits;
    if (ends && ends(e)) break;
  }
  return absent;
}
std::uint64_t of_anchor(const EntityRegistry& r, Entity e) {
  for (e = r.parent(e); e; e = r.parent(e))
    if (r.has<Armor>(e)) return r.has<Count>(e) ? r.get<Count>(e).hits : absent;
  return absent;
}
std::uint64_t expected(const EntityRegistry& r, Entity e, Source source) {
  switch (source) {
    case Source::parent: return walk(r, r.parent(e));
    case Source::self_or_parent: return walk(r, e);
    case Source::parent_with: return of_anchor(r, e);
    case Source::up_to: return walk(r, e, [&](Entity at) { return r.has<Armor>(at); });
    default: return absent;
  }
}

constexpr Source sources[] = {Source::parent, Source::self_or_parent, Source::parent_with, Source::up_to};

template <class Word>
void take(EntityRegistry& r, Handlers& handlers, Taken& taken) {
  handlers.add(r.subscribe(
      "take", [&taken](const Update&, Entity e, Word count) { taken[e.bits()] = count ? count->hits : absent; }));
}
template <class Kept>
void keep(EntityRegistry& r, Handlers& handlers, Taken& taken) {
  handlers.add(r.subscribe("keep", [&taken](const Update&, Entity e, Kept) { taken[e.bits()] = absent; }));
}
void take_by_id(EntityRegistry& r, Handlers& handlers, Taken& taken, Source source, Presence presence) {
  const Term count{
      .type = TypeTraits<Count>::id, .presence = presence, .source = source, .anchor = TypeTraits<Armor>::id};
  handlers.add(r.subscribe("by id", DynamicShape{.message = TypeTraits<Update>::id, .terms = {count}},
                           [&taken](const DynamicCall& call) {
                             Count value{.hits = 0};
                             if (call.values[0]) std::memcpy(&value, call.values[0], sizeof value);
                             taken[call.self.bits()] = call.values[0] ? value.hits : absent;
                           }));
}

/// Trees in which siblings stand beside one another, and more and more do not.
struct World {
  EntityRegistry registry;
  std::vector<Entity> all;
  std::mt19937 random{11};
  World() {
    registry.add_type<Count>();
    registry.add_type<Armor>();
    for (std::uint32_t i = 0; i < 600; ++i) make(i);
  }
  Entity any() { return all[random() % all.size()]; }
  void make(std::uint32_t number) {
    const Entity parent = all.empty() || random() % 12 == 0
                              ? Entity{}
                              : all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 9)];
    for (std::uint32_t i = 0; i <= random() % 4; ++i) {
      const Entity e = test::id_or_nil(random() % 3 ? registry.create_under(parent, {}, Health{})
                                                    : registry.create_under(parent, {}, Count{number}));
      if (random() % 7 == 0) registry.set(e, Armor{});
      all.push_back(e);
    }
  }
  void stir() {
    std::erase_if(all, [&](Entity e) { return !registry.alive(e); });
    switch (random() % 4) {
      case 0: registry.reparent(any(), random() % 4 ? any() : Entity{}); break;
      case 1: registry.set(any(), Count{static_cast<std::uint32_t>(random())}); break;
      case 2: registry.remove<Count>(any()); break;
      default:
        if (all.size() > 300) registry.destroy(any());
        make(static_cast<std::uint32_t>(random()));
    }
  }
};

void check(World& world, const char* what, Source source, bool required, Handlers& handlers, Taken& taken) {
  INFO(what << ", source " << static_cast<int>(source));
  taken.clear();
  world.registry.push(Update{});
  std::size_t wrong = 0, called = 0;
  world.registry.each<>([&](Entity e) {
    const std::uint64_t value = expected(world.registry, e, source);
    const auto found = taken.find(e.bits());
    if (required && value == absent) {
      wrong += found != taken.end();
    } else {
      wrong += found == taken.end() || found->second != value;
      ++called;
    }
  });
  CHECK(wrong == 0);
  CHECK(taken.size() == called);
  handlers = {};
}

}  // namespace

TEST_CASE(
    "what is taken from ancestors is what a walk upwards finds, whatever rows stand before, by type and by run-time "
    "id") {
  World world;
  EntityRegistry& r = world.registry;
  Taken taken;
  Handlers handlers;
  for (int round = 0; round < 6; ++round) {
    take<Parent<const Count*>>(r, handlers, taken);
    check(world, "optional", Source::parent, false, handlers, taken);
    take<Parent<const Count>>(r, handlers, taken);
    check(world, "required", Source::parent, true, handlers, taken);
    take<SelfOrParent<const Count*>>(r, handlers, taken);
    check(world, "optional", Source::self_or_parent, false, handlers, taken);
    take<SelfOrParent<const Count>>(r, handlers, taken);
    check(world, "required", Source::self_or_parent, true, handlers, taken);
    take<ParentWith<const Count*, Armor>>(r, handlers, taken);
    check(world, "optional", Source::parent_with, false, handlers, taken);
    take<ParentWith<const Count, Armor>>(r, handlers, taken);
    check(world, "required", Source::parent_with, true, handlers, taken);
    take<UpTo<const Count*, Armor>>(r, handlers, taken);
    check(world, "optional", Source::up_to, false, handlers, taken);
    take<UpTo<const Count, Armor>>(r, handlers, taken);
    check(world, "required", Source::up_to, true, handlers, taken);
    for (const Source source : sources)
      for (const bool required : {false, true}) {
        take_by_id(r, handlers, taken, source, required ? Presence::required : Presence::optional);
        check(world, "by id", source, required, handlers, taken);
      }
    for (int i = 0; i < 400; ++i) world.stir();
  }
}

TEST_CASE(
    "what is kept away by ancestors is kept away where a walk upwards finds the component, whatever rows stand "
    "before") {
  World world;
  EntityRegistry& r = world.registry;
  Taken taken;
  Handlers handlers;
  const auto away = [&](const char* what, Source source) {
    INFO(what);
    taken.clear();
    r.push(Update{});
    std::size_t wrong = 0;
    r.each<>([&](Entity e) { wrong += taken.contains(e.bits()) != (expected(r, e, source) == absent); });
    CHECK(wrong == 0);
    handlers = {};
  };
  for (int round = 0; round < 6; ++round) {
    keep<WithoutParent<Count>>(r, handlers, taken);
    away("WithoutParent", Source::parent);
    keep<WithoutSelfOrParent<Count>>(r, handlers, taken);
    away("WithoutSelfOrParent", Source::self_or_parent);
    take_by_id(r, handlers, taken, Source::self_or_parent, Presence::excluded);
    away("by id", Source::self_or_parent);
    for (int i = 0; i < 400; ++i) world.stir();
  }
}

TEST_CASE(
    "who takes what the parent has beside what it has itself, or its parent, is given both, whoever of them has it") {
  World world;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> taken;
    const auto hits = [](const auto& count) { return count ? count->hits : absent; };
    {
      const Subscription both = world.registry.subscribe(
          "both", [&](const Update&, Entity e, Parent<const Count*> above, SelfOrParent<const Count*> nearest) {
            taken[e.bits()] = {hits(above), hits(nearest)};
          });
      world.registry.push(Update{});
    }
    std::size_t wrong = 0, entities = 0;
    world.registry.each<>([&](Entity e) {
      ++entities;
      const std::pair right(expected(world.registry, e, Source::parent),
                            expected(world.registry, e, Source::self_or_parent));
      const auto found = taken.find(e.bits());
      wrong += found == taken.end() || found->second != right;
    });
    INFO(i);
    CHECK(wrong == 0);
    CHECK(taken.size() == entities);
    world.stir();
  }
}

TEST_CASE("a run of messages to siblings finds their parent's value as each message before has left it") {
  EntityRegistry r;
  Handlers handlers;
  // The parents are hit by the same message, before, between and after their children.
  handlers.add(r.subscribe("pass on", [](const Damage& damage, Health& health, Parent<const Health*> above) {
    health.value += damage.amount + (above ? above->value : 0);
  }));
  const Entity a = r.create(Health{.value = 1}), b = r.create(Health{.value = 100});
  std::vector<Entity> below;
  for (const Entity parent : {a, a, b, a, b, b}) below.push_back(r.create_under(parent, {}, Health{.value = 0}));
  const Entity targets[] = {below[0], below[1], a, below[1], below[2], below[3], b, below[4], below[5], below[5]};
  for (const Entity e : targets) r.post(e, Damage{.amount = 1});
  r.flush();
  const float values[] = {2, 5, 101, 3, 102, 204};  // a: 1, then 2; b: 100, then 101
  for (std::size_t i = 0; i < below.size(); ++i) CHECK(r.get<Health>(below[i]).value == values[i]);
}

TEST_CASE("a handler that spawns finds what the parents have, wherever the ids that it takes move the directory") {
  for (const bool by_id : {false, true}) {
    EntityRegistry registry;
    Handlers handlers;
    std::vector<Entity> parents;
    for (std::uint32_t i = 0; i < 20; ++i) parents.push_back(registry.create(Count{.hits = i * 3}));
    for (std::uint32_t i = 0; i < 160; ++i)
      registry.create_under(parents[i / 8], "", Health{.value = static_cast<float>(i)}).or_stop();
    std::uint64_t rows = 0, right = 0;
    const auto look = [&](const Count& count, std::uint32_t place, Spawner& spawner) {
      ++rows;
      right += count.hits == place / 8 * 3;
      for (int i = 0; i < 500; ++i) spawner.create();
    };
    if (by_id) {
      const Term own{.type = TypeTraits<Health>::id};
      const Term above{.type = TypeTraits<Count>::id, .source = Source::parent};
      handlers.add(registry.subscribe(
          "look", DynamicShape{.message = TypeTraits<Update>::id, .terms = {own, above}, .pushes = true},
          [&](const DynamicCall& call) {
            Health health;
            Count count;
            std::memcpy(&health, call.values[0], sizeof health);
            std::memcpy(&count, call.values[1], sizeof count);
            look(count, static_cast<std::uint32_t>(health.value), call.spawner);
          }));
    } else {
      handlers.add(registry.subscribe(
          "look", [&](const Update&, const Health& health, Parent<const Count> count, Spawner& spawner) {
            look(*count, static_cast<std::uint32_t>(health.value), spawner);
          }));
    }
    registry.push(Update{});
    CHECK(rows == 160);
    CHECK(right == rows);
  }
}
