// One registry with two states, which it has in turns, beside two registries that keep theirs.
#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/delivery/pushed_sink.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "registry/state/state.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"
#include "tests/registry/state/bounds_of.h"
#include "tests/support/change_marks.h"
#include "tests/support/random.h"
#include "tests/support/seeds.h"

using namespace muster;
using test::Random;

namespace {

void walk(const Update& u, game::Position& at, const game::Velocity& v, Outbox& out, Entity self) {
  at.at.x += v.by.x * u.dt;
  if (self.index % 5 == 0) out.post(self, game::Heal{.amount = 1});
}
void lean(const Update&, game::Position& at, Parent<const game::Position> up, Without<game::Velocity>) {
  at.at.y = at.at.y * 0.5f + up->at.x;
}
void look(const Update&, game::Count& count, const game::Member& member, Lookup<const game::Health> healths) {
  const game::Health* const other = healths.find(member.squad);
  count.hits = count.hits * 31 + (other ? static_cast<std::uint32_t>(other->value) : 5);
}
void hurt(const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
  health.value -= hit.amount;
  if (health.value < 0) out.destroy(self);
}
void heal(const game::Heal& message, game::Health& health) { health.value += message.amount; }
void ping(const game::Ping& message, game::Count& count, Entity self, Outbox& out) {
  count.hits += message.hops;
  if (message.hops > 0) out.post(self, game::Ping{.hops = message.hops - 1});
}
void breed(const game::Swear&, const game::Health& health, Entity self, Spawner& spawner, Outbox& out) {
  const Entity made = spawner.create_under(self, "child", game::Health{.value = health.value}, game::Count{});
  out.post_after(40, made, game::Damage{.amount = 1});
}

/// Sums up what it is told of inputs.
struct Told final : InputSink {
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    for (const std::uint64_t word : {envelope.sequence, std::uint64_t{envelope.resumed}, std::uint64_t{envelope.drawn},
                                     envelope.next_timer, std::uint64_t{batch.size()}})
      sum = sum * 0x100000001b3ull + word;
    resumed = envelope.resumed;
  }
  std::uint64_t sum = 0;
  std::uint32_t resumed = 0;  // of the last input
};

/// A registry with handlers of every way that a message is delivered.
struct World {
  std::unique_ptr<ThreadPool> pool;
  EntityRegistry registry;
  Handlers handlers;
  std::uint64_t calls = 0;
  Told sink;

  explicit World(std::uint32_t workers, bool told = false)
      : pool(std::make_unique<ThreadPool>(workers)),
        registry(
            {.cascade_messages_max = 40, .executor = workers > 1 ? pool.get() : nullptr, .pass_serial_below_ns = 0}) {
    if (told) registry.host().add_sink(sink);
    handlers.add(registry.subscribe<walk>("walk"));
    handlers.add(registry.subscribe<lean>("lean", {.after = {"walk"}}));
    handlers.add(registry.subscribe<look>("look"));
    handlers.add(registry.subscribe<hurt>("hurt"));
    handlers.add(registry.subscribe<heal>("heal"));
    handlers.add(registry.subscribe<ping>("ping"));
    handlers.add(registry.subscribe<breed>("breed"));
    handlers.add(registry.subscribe("order", [this](const game::Blob&, const game::Health& health) {
      calls = calls * 31 + static_cast<std::uint64_t>(health.value);
    }));
    handlers.add(
        registry.subscribe("order twice", [this](const game::Blob&, const game::Count&) { calls = calls * 7 + 1; }));
  }
};

/// Runs one step of a random program and returns its results. Two registries with equal state
/// return equal results.
std::string step(World& world, Random random) {
  EntityRegistry& r = world.registry;
  std::vector<Entity> all;
  r.each<>([&](Entity e) { all.push_back(e); });
  const auto one = [&] { return all.empty() ? Entity{} : all[random.below(all.size())]; };
  std::uint64_t told = r.entity_count();
  const auto tell = [&](std::uint64_t more) { told = told * 0x100000001b3ull + more; };
  const auto tell_created = [&](const Created& made) { tell(made ? Entity(made).bits() : 0); };
  const auto tell_receipt = [&](const Receipt& receipt) {
    for (const std::uint64_t count :
         {std::uint64_t{receipt.handled}, std::uint64_t{receipt.unhandled}, std::uint64_t{receipt.dead},
          std::uint64_t{receipt.refused}, std::uint64_t{receipt.cut_short}, receipt.sequence})
      tell(count);
  };
  const bool crowded = all.size() > 400;
  switch (crowded ? 5 + random.below(20) : random.below(25)) {
    case 0: tell(r.create(game::Health{.value = 9}, game::Count{}).bits()); break;
    case 1:
      tell_created(r.create_under(one(), "n" + std::to_string(random.below(20)), game::Health{}, game::Position{}));
      break;
    case 2:
      tell_created(r.create_under(one(), "", game::Position{}, game::Velocity{.by = {.x = 2}}, game::Count{},
                                  game::Member{.team = game::Team::red, .squad = one()}));
      break;
    case 3:
      for (const Entity e : r.create_many(random.small(40), game::Health{}, game::Slots{})) tell(e.bits());
      for (const Entity e : r.create_many(random.small(60), game::Health{}, game::Position{}, game::Velocity{}))
        tell(e.bits());
      break;
    case 4: {
      std::vector<Entity> ids;
      (void)r.spawn("tree", {.parent = one(), .ids = &ids}, game::Armor{});
      for (int i = 0; i < 3; ++i) tell_created(r.spawn("tree"));
      for (const Entity e : ids) tell(e.bits());
      break;
    }
    case 5:
    case 6:
      for (int i = 0; i < 6; ++i) tell_receipt(r.push(one(), game::Damage{.amount = 1}));
      break;
    case 7: tell_receipt(r.push(Update{.dt = 1})); break;
    case 8: tell_receipt(r.push(one(), game::Ping{.hops = random.small(60)})); break;
    case 9:
      for (int i = 0; i < 5; ++i) r.post(one(), game::Heal{.amount = 1});
      if (random.percent(50)) tell_receipt(r.flush());
      break;
    case 10: tell_receipt(r.destroy(one())); break;
    case 11: {
      std::vector<Entity> some;
      for (int i = 0; i < 9; ++i) some.push_back(one());
      tell_receipt(r.push(std::span<const Entity>(some), Destroy{}));
      break;
    }
    case 12:
      for (int i = 0; i < 4; ++i) tell_receipt(r.set(one(), game::Armor{.factor = 2}, game::Frozen{}));
      break;
    case 13:
      for (int i = 0; i < 4; ++i) tell_receipt(r.remove<game::Armor>(one()));
      break;
    case 14: tell_receipt(r.reparent(one(), one())); break;
    case 15: tell_receipt(r.rename(one(), "r" + std::to_string(random.below(9)))); break;
    case 16: tell(r.post_at(r.now_ns() + random.below(90), one(), game::Damage{.amount = 2})); break;
    case 17: tell_receipt(r.advance(random.below(80))); break;
    case 18: tell_receipt(r.push(one(), game::Swear{})); break;
    case 19: {
      BatchBuilder few;
      for (int i = 0; i < 3; ++i) few.append(one(), game::Damage{.amount = 1});
      tell_receipt(r.host().push_batch(few.front().bytes(), {.session = 5, .user = 7, .request = 6}));
      break;
    }
    case 20: tell_receipt(r.set_handler_enabled(random.percent(50) ? "heal" : "lean", random.percent(60))); break;
    case 21: {
      TemplateTree tree("tree");
      tree.set("", game::Health{.value = static_cast<float>(random.below(50))});
      tree.set("a", game::Count{}).set("a/b", game::Position{});
      if (random.percent(50)) tree.set("a", game::Armor{});
      r.define_template(tree);
      break;
    }
    case 22:
      tell(r.host().grant(1 + random.small(80), 3).bits());
      tell_receipt(r.push(one(), game::Blob{}));
      break;
    case 23: tell_created(r.spawn("no such template")); break;  // delivers what waits; no input
    default:
      r.each<const game::Health, const game::Count>([&](Entity e, const game::Health& health, const game::Count&) {
        tell(e.bits() + static_cast<std::uint64_t>(health.value * 8));
      });
      tell(r.find_path("/n1").bits());
      for (const TypeId type : r.host().components(one())) tell(type);
      tell_receipt(r.push(one(), game::Heal{.amount = 1}));
  }
  return std::to_string(told) + " " + std::to_string(r.sequence()) + " " + std::to_string(r.host().next_timer());
}

/// Keeps rows as a world file does: those that it has at their version it does not take again.
class Keeper final : public StateSink {
 public:
  bool has(const StateKey& key, std::uint64_t version) override {
    const auto at = kept_.find(key);
    if (at == kept_.end() || at->second.first != version) return false;
    seen_.insert(key);
    if (key.section == StateSection::chunks)
      for (auto column = kept_.lower_bound({StateSection::columns, key.key, 0});
           column != kept_.end() && column->first.section == StateSection::columns && column->first.key == key.key;
           ++column)
        seen_.insert(column->first);
    return true;
  }
  void row(const StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    kept_[key] = {version, {bytes.begin(), bytes.end()}};
    seen_.insert(key);
  }
  naive::StateRows save(EntityRegistry& registry) {
    registry.host().begin_version();
    registry.save(*this);
    std::erase_if(kept_, [&](const auto& row) { return !seen_.contains(row.first); });
    seen_.clear();
    naive::StateRows rows;
    for (const auto& [key, row] : kept_) rows[key] = row.second;
    return rows;
  }

 private:
  std::map<StateKey, std::pair<std::uint64_t, std::vector<std::byte>>> kept_;
  std::set<StateKey> seen_;
};

void run(std::uint64_t seed, std::uint32_t workers) {
  Random random(seed);
  const bool told = seed % 2 == 0;
  World swapping(workers, told);
  World twins[2] = {World(workers, told), World(workers, told)};
  RegistryState other = swapping.registry.host().make_state();
  int here = 0;
  Keeper keeper;
  for (int i = 0; i < 300; ++i) {
    INFO("seed " << seed << ", step " << i << ", state " << here << ", " << workers << " workers");
    if (random.percent(20)) {
      REQUIRE(swapping.registry.host().swap_state(other));
      here = 1 - here;
    }
    if (random.percent(4)) {  // what is saved in one registry is loaded into the one that lives
      const naive::StateRows rows = naive::saved_rows(twins[here].registry);
      naive::RowsSource source(rows);
      REQUIRE(swapping.registry.load(source));
    }
    World& twin = twins[here];
    const std::uint64_t draw = random.next(), calls = swapping.calls;
    twin.calls = calls;
    twin.sink.sum = swapping.sink.sum;
    const std::string found = step(swapping, Random(draw)), expected = step(twin, Random(draw));
    REQUIRE(found == expected);
    REQUIRE(swapping.calls == twin.calls);
    REQUIRE(swapping.sink.sum == twin.sink.sum);
    if (i % 7 == 0) {
      REQUIRE(swapping.registry.hash() == twin.registry.hash());
      const naive::StateRows saved = naive::saved_rows(swapping.registry);
      REQUIRE(saved == naive::saved_rows(twin.registry));
      REQUIRE(keeper.save(swapping.registry) == saved);
    }
  }
  REQUIRE(swapping.registry.hash() == twins[here].registry.hash());
  REQUIRE(swapping.registry.host().swap_state(other));
  REQUIRE(swapping.registry.hash() == twins[1 - here].registry.hash());
}

}  // namespace

// MUSTER_SWAP_SEEDS: how many; MUSTER_SWAP_SEED: the first.
TEST_CASE("a registry that has two states in turns does in each what a registry does that never had another") {
  test::Seeds seeds("MUSTER_SWAP_SEEDS", "MUSTER_SWAP_SEED", 60);
  for (std::uint64_t seed = 0; seeds.next(seed);) run(seed, seed % 10 == 3 ? 3 : 1);
}

TEST_CASE(
    "a state that was taken out and put back is what it was, whatever was done in between, and goes on as if it had "
    "never left") {
  World world(1), twin(1);
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t draw = random.next();
    step(world, Random(draw));
    step(twin, Random(draw));
  }
  RegistryState level = world.registry.host().make_state();
  REQUIRE(world.registry.host().swap_state(level));
  CHECK(world.registry.host().is_new());
  CHECK(world.registry.entity_count() == 0);
  for (int i = 0; i < 200; ++i) step(world, Random(random.next()));
  RegistryState kept(std::move(level));  // a value: it may be anywhere meanwhile
  REQUIRE(world.registry.host().swap_state(kept));
  CHECK(naive::saved_rows(world.registry) == naive::saved_rows(twin.registry));
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t draw = random.next();
    REQUIRE(step(world, Random(draw)) == step(twin, Random(draw)));
  }
  CHECK(world.registry.hash() == twin.registry.hash());
}

TEST_CASE("references to a registry's storage and hierarchy show the state that it has, and their marks only grow") {
  World world(1);
  const Storage& storage = world.registry.host().storage();
  const Hierarchy& hierarchy = world.registry.host().hierarchy();
  const Entity top = world.registry.create("top", game::Health{});
  const Entity below = world.registry.create_under(top, "below");
  RegistryState empty = world.registry.host().make_state();
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t version = storage.version(), stamp = storage.stamp(), chunks = storage.chunk_changes();
    const std::uint64_t structure = storage.structure(), drops = storage.archetype_drops();
    const std::uint64_t texts = world.registry.host().texts().drops();
    REQUIRE(world.registry.host().swap_state(empty));
    CHECK(storage.version() > version);
    CHECK(storage.stamp() > stamp);
    CHECK(storage.chunk_changes() > chunks);
    CHECK(storage.structure() > structure);
    CHECK(storage.archetype_drops() > drops);
    CHECK(world.registry.host().texts().drops() > texts);
    CHECK(storage.alive(top) == (i % 2 == 1));
    CHECK(hierarchy.parent(below) == (i % 2 == 1 ? top : Entity{}));
  }
}

TEST_CASE("bounds of cascades are of the state, and a new state has those of the options") {
  EntityRegistry saved({.cascade_messages_max = 9}), world({.cascade_messages_max = 4});
  saved.create("someone").or_stop();
  const naive::StateRows rows = naive::saved_rows(saved);
  naive::RowsSource source(rows);
  RegistryState own = world.host().make_state();
  REQUIRE(world.load(source));
  CHECK(test::bounds_of(world).messages_max == 9);
  const Subscription echo = world.subscribe("echo", [](const game::Ping& ping, game::Count&, Entity self, Outbox& out) {
    if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
  });
  CHECK_FALSE(world.push(world.create(game::Count{}), game::Ping{.hops = 9}).cut_short);
  REQUIRE(world.host().swap_state(own));
  CHECK(test::bounds_of(world).messages_max == 4);
  CHECK(world.push(world.create(game::Count{}), game::Ping{.hops = 9}).cut_short);
  RegistryState fresh = world.host().make_state();
  REQUIRE(world.host().swap_state(fresh));
  CHECK(test::bounds_of(world).messages_max == 4);
  REQUIRE(world.host().swap_state(own));
  CHECK(test::bounds_of(world).messages_max == 9);
}

TEST_CASE("a cascade that was cut inside a batch goes on where it was, also when its state was away") {
  World world(1, true), twin(1, true);
  RegistryState other = world.registry.host().make_state();
  for (World* each : {&world, &twin}) {
    for (int i = 0; i < 600; ++i) each->registry.create(game::Health{}, game::Position{}, game::Velocity{});
    REQUIRE(each->registry.push(Update{.dt = 1}).cut_short);  // one batch of 120
    CHECK_FALSE(each->registry.spawn("no such template"));    // goes on with it, and is no input
  }
  REQUIRE(world.registry.host().swap_state(other));
  const Entity there = world.registry.create(game::Count{});
  CHECK(world.sink.resumed == 0);
  world.registry.push(there, game::Ping{.hops = 2});
  REQUIRE(world.registry.host().swap_state(other));
  CHECK(naive::saved_rows(world.registry) == naive::saved_rows(twin.registry));
  world.registry.create();
  twin.registry.create();
  CHECK(twin.sink.resumed == 2);
  CHECK(world.sink.resumed == 2);
  CHECK(naive::saved_rows(world.registry) == naive::saved_rows(twin.registry));
}

TEST_CASE("whether causes are recorded is of the registry, whatever state it has") {
  struct Seen final : PushedSink {
    void on_pushed(const BatchView& batch) noexcept override { causes.push_back(batch.has_causes()); }
    std::vector<bool> causes;
  } seen;
  World world(1);
  RegistryState other = world.registry.host().make_state();
  world.registry.profile().record_causes(true);
  world.registry.host().set_pushed_sink(&seen);
  const auto ping = [&] { world.registry.push(world.registry.create(game::Count{}), game::Ping{.hops = 1}); };
  ping();
  REQUIRE(world.registry.host().swap_state(other));
  ping();
  world.registry.profile().record_causes(false);
  REQUIRE(world.registry.host().swap_state(other));
  ping();
  CHECK(seen.causes == std::vector<bool>{true, true, false});
  world.registry.host().set_pushed_sink(nullptr);
}

TEST_CASE("a reader of the past is offered all that leaves with its state, and nothing of the one that comes") {
  World world(1);
  const auto fill = [&](float value) {
    for (int i = 0; i < 50; ++i) world.registry.create(game::Health{.value = value}, game::Count{});
  };
  fill(1);
  RegistryState other = world.registry.host().make_state();
  REQUIRE(world.registry.host().swap_state(other));
  fill(2);
  test::ColumnMarks marks;
  world.registry.host().add_preserver(marks);
  marks.begin(world.registry.host().storage(), world.registry.host().begin_version());
  world.registry.push(world.registry.find_path("/#5:1"), game::Damage{});
  REQUIRE(world.registry.host().swap_state(other));
  world.registry.push(Update{.dt = 1});
  for (std::uint32_t i = 1; i < 40; ++i) world.registry.push(Entity{i, 1}, game::Damage{});
  CHECK(marks.check(world.registry.host().storage()) == "");
  world.registry.host().remove_preserver(marks);
}

TEST_CASE("a handler that was asked for inside a handler begins when its state is back, and in no other") {
  World world(1);
  std::vector<Subscription> late;
  int begun = 0;
  const Subscription ask = world.registry.subscribe("ask", [&](const game::SayView&, Outbox& out) {
    for (int i = 0; i < 60; ++i) out.post(Entity{1, 1}, game::Heal{.amount = 1});  // over
    late.push_back(out.subscribe("late", [&](const game::Blob&) { ++begun; }));
  });
  world.registry.create(game::Health{});
  REQUIRE(world.registry.push(game::Say{.text = "come"}).cut_short);
  RegistryState other = world.registry.host().make_state();
  REQUIRE(world.registry.host().swap_state(other));
  world.registry.push(world.registry.create(), game::Ping{});
  world.registry.push(game::Blob{});
  CHECK(begun == 0);
  REQUIRE(world.registry.host().swap_state(other));
  world.registry.create();
  world.registry.push(game::Blob{});
  CHECK(begun == 1);
}
