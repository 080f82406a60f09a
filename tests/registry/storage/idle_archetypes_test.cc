// Archetypes that nobody has are dropped where they are many, and nothing else can tell.
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/many.h"
#include "tests/support/open_storage.h"

namespace idle_archetypes_test {

using namespace muster;

namespace {

struct Component {
  Receipt (*give)(EntityRegistry&, Entity, std::uint32_t);
  Receipt (*take)(EntityRegistry&, Entity);
  bool (*has)(const EntityRegistry&, Entity);
};

template <ComponentType C>
constexpr Component component_of{[](EntityRegistry& r, Entity e, [[maybe_unused]] std::uint32_t value) {
                                   if constexpr (TypeTraits<C>::tag)
                                     return r.set(e, C{});
                                   else
                                     return r.set(e, C{value});
                                 },
                                 [](EntityRegistry& r, Entity e) { return r.remove<C>(e); },
                                 [](const EntityRegistry& r, Entity e) { return r.has<C>(e); }};

constexpr std::array<Component, 12> components{component_of<many::A>, component_of<many::B>, component_of<many::C>,
                                               component_of<many::D>, component_of<many::E>, component_of<many::F>,
                                               component_of<many::G>, component_of<many::H>, component_of<many::I>,
                                               component_of<many::J>, component_of<many::K>, component_of<many::L>};

Receipt flip(EntityRegistry& r, Entity e, std::size_t which, std::uint32_t value) {
  const Component& c = components[which];
  return c.has(r, e) ? c.take(r, e) : c.give(r, e, value);
}

/// Through 4096 sets of components, each once; ends with the last component alone.
void storm(EntityRegistry& r, Entity e, std::uint32_t from = 1, std::uint32_t to = 4096) {
  for (std::uint32_t i = from; i < to; ++i)
    REQUIRE(flip(r, e, static_cast<std::size_t>(std::countr_zero(i)), i).handled == 1);
}

void add(const many::Tick& tick, many::B& b) { b.value += tick.by; }
void add_both(const many::Tick& tick, many::B& b, const many::C& c) { b.value += tick.by * c.value; }

struct World {
  explicit World(RegistryOptions options = {}) : r(std::make_unique<EntityRegistry>(options)) {
    r->add_type<many::A>();
    handlers.add(r->subscribe("add", add));
    handlers.add(r->subscribe("add both", add_both));
    handlers.add(r->subscribe("spawned", [](const many::Tick& tick, const many::E& e, Spawner& spawner) {
      if (tick.by == e.value) spawner.create(many::B{tick.by}, many::K{e.value});
    }));
  }
  std::unique_ptr<EntityRegistry> r;
  Handlers handlers;
};

}  // namespace

TEST_CASE("archetypes that nobody has any more are dropped, whatever way entities left them") {
  World world;
  EntityRegistry& r = *world.r;
  std::vector<Entity> all;
  for (std::uint32_t i = 0; i < 40; ++i) all.push_back(r.create(many::B{i}));
  std::size_t most = 0;
  std::uint32_t numbers = 0;
  for (int round = 0; round < 3; ++round)
    for (const Entity e : {all[0], all[1]}) {
      for (std::uint32_t i = 1; i < 4096; ++i) {
        flip(r, e, static_cast<std::size_t>(std::countr_zero(i)), i);
        most = std::max(most, r.host().storage().archetypes().size());
      }
      CHECK(r.host().storage().next_archetype() > numbers);  // never reused
      numbers = r.host().storage().next_archetype();
    }
  CHECK(numbers > 10'000);
  CHECK(most <= 1024 + 10);
  CHECK(r.host().storage().archetype_drops() >= 10);
  // Those with rows stayed, with their handlers.
  std::uint32_t sum = 0, sum_after = 0;
  r.each<const many::B>([&](Entity, const many::B& b) { sum += b.value; });
  CHECK(r.push(many::Tick{.by = 1}).handled == 1);
  r.each<const many::B>([&](Entity, const many::B& b) { sum_after += b.value; });
  CHECK(sum_after >= sum + 38);
  // One archetype each, many of them: more than a thousand without rows are kept where they are no more than twice those.
  World wide;
  for (std::uint32_t set = 0; set < 4096; ++set) {
    const Entity e = wide.r->create(many::B{});
    for (std::size_t c = 0; c < components.size(); ++c)
      if (c != 1 && (set >> c & 1)) flip(*wide.r, e, c, set);
  }
  CHECK(wide.r->host().storage().archetype_drops() == 0);
}

TEST_CASE("as many archetypes without rows are kept as are stated, and one more is too many") {
  World world;
  EntityRegistry& r = *world.r;
  const Entity e = r.create(many::A{});
  std::size_t idle = 0;
  for (std::uint32_t i = 1; i < 4096 && r.host().storage().archetype_drops() == 0; ++i) {
    idle = static_cast<std::size_t>(
        std::ranges::count_if(r.host().storage().archetypes(), [](const auto& a) { return a->rows() == 0; }));
    flip(r, e, static_cast<std::size_t>(std::countr_zero(i)), i);
  }
  CHECK(r.host().storage().archetype_drops() == 1);
  CHECK(idle == 1024);
}

TEST_CASE("dropped archetypes make no difference between ways of running: shortcuts, workers, posts, save and load") {
  ThreadPool pool(4);
  std::vector<World> worlds;
  worlds.emplace_back();
  worlds.emplace_back(RegistryOptions{.shortcuts = false});
  worlds.emplace_back(RegistryOptions{.executor = &pool, .pass_serial_below_ns = 0});
  worlds.emplace_back();  // saved and loaded again and again
  TemplateTree tree("squad");
  tree.set("", many::A{}).set("", many::E{7});
  tree.set("mate", many::F{9}).set("mate", many::B{1});
  std::vector<Entity> all;
  for (World& world : worlds) {
    world.r->define_template(tree);
    all = world.r->create_many(30, many::B{1}, many::C{2});
  }
  std::mt19937 random(4711);
  std::uint64_t drops = 0;
  for (std::uint32_t step = 1; step < 9000; ++step) {
    const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
    const auto kind = static_cast<std::uint32_t>(random() % 100);
    if (step % 1777 == 0) {
      drops += worlds[3].r->host().storage().archetype_drops();
      const naive::StateRows rows = naive::saved_rows(*worlds[3].r);
      naive::RowsSource source(rows);
      World loaded;
      REQUIRE(loaded.r->load(source));
      REQUIRE(naive::saved_rows(*loaded.r) == rows);
      worlds[3].handlers = {};
      worlds[3] = std::move(loaded);
    }
    for (World& world : worlds) {
      EntityRegistry& r = *world.r;
      const Entity e = all[a % 3];
      if (kind < 90)
        flip(r, e, step % 2 ? static_cast<std::size_t>(std::countr_zero((step & 4095) | 4096)) % 12 : b % 12, step);
      else if (kind < 92)
        r.push(many::Tick{.by = b % 11});
      else if (kind < 94)
        r.spawn("squad", {.name = "squad"}, many::L{}).or_stop();
      else if (kind < 95 && r.entity_count() > 40)
        r.destroy(r.find_path("squad"));
      else if (kind < 97)
        r.post(many::Tick{.by = b % 11});
      else if (kind < 98)
        r.flush();
      else
        r.push(std::span<const Entity>(all).first(1 + b % 9), Remove{.component = TypeTraits<many::C>::id});
    }
    if (step % 50 == 0)
      for (const World& world : worlds) {
        CAPTURE(step, &world - worlds.data());
        REQUIRE(world.r->hash() == worlds[0].r->hash());
        REQUIRE(world.r->host().storage().archetypes().size() == worlds[0].r->host().storage().archetypes().size());
        REQUIRE(world.r->host().storage().next_archetype() == worlds[0].r->host().storage().next_archetype());
      }
  }
  for (World& world : worlds) CHECK((naive::saved_rows(*world.r) == naive::saved_rows(*worlds[0].r)));
  CHECK(worlds[0].r->host().storage().archetype_drops() >= 2);
  CHECK(drops > 0);
}

TEST_CASE("a template whose archetypes were dropped spawns as before") {
  World world;
  EntityRegistry& r = *world.r;
  TemplateTree tree("squad");
  tree.set("", many::A{}).set("", many::E{7});
  tree.set("mate", many::F{9}).set("mate", many::B{1});
  r.define_template(tree);
  r.destroy(r.spawn("squad"));
  const Entity e = r.create(many::B{});
  storm(r, e);
  REQUIRE(r.host().storage().archetype_drops() > 0);
  const Entity again = r.spawn("squad");
  CHECK(r.get<many::E>(again).value == 7);
  CHECK(r.get<many::F>(r.find_child(again, "mate")).value == 9);
  CHECK(r.push(r.find_child(again, "mate"), many::Tick{.by = 5}).handled == 1);
  CHECK(r.get<many::B>(r.find_child(again, "mate")).value == 6);
}

TEST_CASE("a handler that is subscribed after archetypes were dropped is called for all it fits") {
  World world;
  EntityRegistry& r = *world.r;
  storm(r, r.create(many::B{}));
  REQUIRE(r.host().storage().archetype_drops() > 0);
  const Entity one = r.create(many::H{1}), other = r.create(many::H{2}, many::K{3});
  std::uint32_t sum = 0;
  const Subscription late = r.subscribe("late", [&](const many::Tick&, const many::H& h) { sum += h.value; });
  r.push(many::Tick{.by = 100});
  CHECK(sum == 3);
  r.destroy(one);
  r.push(other, many::Tick{.by = 100});
  CHECK(sum == 5);
}

TEST_CASE(
    "archetypes without rows are dropped where they are more than twice those with rows, not where they are twice") {
  World world;
  EntityRegistry& r = *world.r;
  // One entity stays in each of 600 sets; the last one goes on through sets that nobody had.
  Entity walker;
  for (std::uint32_t stays = 0; stays < 600; ++stays) {
    walker = r.create(many::A{});
    storm(r, walker, 1, stays + 1);
  }
  REQUIRE(r.host().storage().archetype_drops() == 0);
  std::size_t idle = 0, used = 0;
  for (std::uint32_t i = 600; i < 4096 && r.host().storage().archetype_drops() == 0; ++i) {
    used = static_cast<std::size_t>(
        std::ranges::count_if(r.host().storage().archetypes(), [](const auto& a) { return a->rows() > 0; }));
    idle = r.host().storage().archetypes().size() - used;
    flip(r, walker, static_cast<std::size_t>(std::countr_zero(i)), i);
  }
  CHECK(r.host().storage().archetype_drops() == 1);
  CHECK(idle > 1024);
  CHECK(idle == 2 * used);  // one more was too many
}

TEST_CASE("a row that moves to an archetype in the memory of one that was dropped keeps what both have") {
  EntityRegistry known;
  known.add_type<many::A>();
  test::OpenStorage storage;
  std::vector<TypeId> types;
  for (std::uint32_t letter = 'A'; letter <= 'L'; ++letter)
    types.push_back(storage.types()->add(*known.types().find("many." + std::string(1, static_cast<char>(letter)))).id);
  std::ranges::sort(types);
  const auto archetype_of = [&](std::uint32_t bits) -> Archetype& {
    std::vector<TypeId> set;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (bits >> i & 1) set.push_back(types[i]);
    return storage.archetype(set);
  };
  // `kept` lies behind the others, so where it goes depends on how many of those there are.
  std::vector<std::size_t> valued;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (storage.component(types[i])->size != 0) valued.push_back(i);
  const TypeId kept = types[valued.back()];
  const std::uint32_t from = 1u << valued.back(), to = from | 1u << valued[0], more = to | 1u << valued[1];
  const auto value = [&](Entity e, TypeId type) -> std::uint32_t& {
    const Row row = storage.find(e);
    return *reinterpret_cast<std::uint32_t*>(row.at(row.chunk->archetype->column(type), sizeof(std::uint32_t)));
  };
  std::array<Entity, 2> both{};
  storage.reserve(both);
  for (const Entity e : both) {
    storage.create(e, archetype_of(from), 0, {});
    value(e, kept) = 7;
  }
  // The first to be dropped, so that one of the next few may get its memory.
  const Archetype* const dropped = &archetype_of(to);
  for (std::uint32_t bits = 0; bits < 1200; ++bits) (void)archetype_of(bits);
  storage.move(both[0], archetype_of(to), 0, {});
  storage.destroy(storage.find(both[0]), false);
  REQUIRE(storage.drop_idle_archetypes());
  Archetype* here = nullptr;
  for (std::uint32_t bits = more; bits < 4096 && !here; bits = (bits + 1) | more)
    if (Archetype& made = archetype_of(bits); &made == dropped) here = &made;
  if (!here) return;  // another one's memory is given out first
  storage.move(both[1], *here, 0, {});
  for (const std::size_t i : valued)
    if (here->has(types[i])) CHECK(value(both[1], types[i]) == (types[i] == kept ? 7u : 0u));
}

}  // namespace idle_archetypes_test
