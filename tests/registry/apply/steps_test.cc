// A Step is applied as a whole, or not at all.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/apply/random_edits.h"
#include "tests/registry/apply/snapshot_log.h"
#include "tests/registry/game.h"

namespace steps_test {

using namespace muster;
using game::Armor, game::Damage, game::Health;
using test::contents_of, test::ids_of, test::push_step, test::SnapshotLog, test::step_of;

namespace {

SetField field(float value) {
  SetField set{.component = TypeTraits<Health>::id, .field = hash32("value"), .bytes = 4};
  std::memcpy(set.value.data(), &value, 4);
  return set;
}

/// A town with two towers, one of which has a bell, and ids that were granted.
struct World {
  EntityRegistry registry;
  Entity town = registry.create("town", Health{}), north = registry.create_under(town, "north", Health{1}),
         south = registry.create_under(town, "south", Armor{}), bell = registry.create_under(north, "bell");
  Entity gone = registry.create();
  Entity granted;
  World() {
    registry.destroy(gone);
    registry.add_type<Damage>();
    registry.add_type<DefineTemplate>();
    TemplateTree hut("hut");
    hut.set("", Health{5}).set("door", Armor{});
    registry.define_template(hut);
    granted = registry.host().grant(20, 1);
  }
  Entity id(std::uint32_t number) const { return {granted.index + number, 1}; }
};

struct Inputs final : InputSink {
  std::vector<std::pair<Envelope, std::vector<std::byte>>> all;
  std::vector<Receipt> receipts;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    all.emplace_back(envelope, std::vector<std::byte>(batch.begin(), batch.end()));
  }
  void on_receipt(const Envelope&, const Receipt& receipt) noexcept override { receipts.push_back(receipt); }
};

/// One edit of each kind, each of which can be applied after those before it.
constexpr std::size_t edits_of_each_kind = 12;
void append_edit(BatchBuilder& to, const World& world, std::size_t number) {
  switch (number) {
    case 0: return to.append_rows(world.id(0), Create{.parent = world.town, .before = world.south}, Health{7});
    case 1: return to.append(world.id(0), Rename{.name = text_of("bell")});
    case 2: return append_spawn(to, std::vector{world.id(1), world.id(2)}, Spawn{.what = text_of("hut")});
    case 3: return to.append(world.bell, Reparent{.parent = world.id(2)});
    case 4: return to.append(world.north, Destroy{});
    case 5: return to.append_rows(world.south, Set{}, Health{9});
    case 6: return to.append(world.south, Remove{.component = TypeTraits<Armor>::id});
    case 7: return to.append(world.town, field(3));
    case 8: return to.append(world.south, Rename{});
    case 9: return to.append_table(TypeTraits<DefineTemplate>::id, {}, encode(DefineTemplate{.name = "hut"}));
    case 10: return to.append(world.id(1), Destroy{});
    default: return to.append(world.town, Damage{});
  }
}

}  // namespace

TEST_CASE("a Step is one input that the log sees from its begin to its end, and its receipt counts all messages") {
  World world;
  SnapshotLog log(world.registry);
  Inputs inputs;
  world.registry.host().add_sink(inputs);
  BatchBuilder batches;
  for (std::size_t i = 0; i < edits_of_each_kind; ++i) append_edit(batches, world, i);
  const std::uint64_t before = world.registry.sequence();
  const Receipt receipt = push_step(world.registry, step_of(batches, "much"));
  CHECK(receipt.refused == 0);
  CHECK(receipt.dead == 0);
  CHECK(receipt.handled == 12);  // a Spawn counts two entities
  CHECK(receipt.unhandled == 1);
  CHECK(receipt.sequence == before + 1);
  CHECK(inputs.all.size() == 1);
  CHECK(log.text == "begin much edit edit edit edit edit edit edit edit edit edit edit end 1 ");
  CHECK_FALSE(world.registry.alive(world.north));
  CHECK_FALSE(world.registry.alive(world.bell));
  CHECK(world.registry.get<Health>(world.id(0)).value == 7);
  CHECK(world.registry.get<Health>(world.town).value == 3);
  world.registry.host().remove_sink(inputs);
}

TEST_CASE(
    "wherever a message is refused or its target is dead, nothing of the Step remains, and the first refusal is told") {
  struct Wrong {
    const char* what;
    Refusal refusal;
    std::function<void(BatchBuilder&, const World&)> append;
  };
  World names;  // ids are the same in every world
  const Entity town = names.town, gone = names.gone;
  const Wrong wrongs[] = {
      {"a name that is taken",
       {RefusalCode::name_taken, names.id(9), TypeTraits<Create>::id, hash32("name")},
       [](BatchBuilder& to, const World& w) { to.append(w.id(9), Create{.name = text_of("town")}); }},
      {"a component that is missing",
       {RefusalCode::missing_component, town, TypeTraits<Armor>::id},
       [](BatchBuilder& to, const World& w) { to.append(w.town, Remove{.component = TypeTraits<Armor>::id}); }},
      {"an edit of a dead entity",
       {RefusalCode::dead_entity, gone, TypeTraits<Rename>::id},
       [](BatchBuilder& to, const World& w) { to.append(w.gone, Rename{}); }},
      {"a message of the game to a dead entity",
       {RefusalCode::dead_entity, gone, TypeTraits<Damage>::id},
       [](BatchBuilder& to, const World& w) { to.append(w.gone, Damage{}); }},
      {"many, of which the second is dead",
       {RefusalCode::dead_entity, gone, TypeTraits<Destroy>::id},
       [](BatchBuilder& to, const World& w) { to.append_shared(std::vector{w.town, w.gone}, Destroy{}); }},
      {"a message of the game to many, of which the second is dead",
       {RefusalCode::dead_entity, gone, TypeTraits<Damage>::id},
       [](BatchBuilder& to, const World& w) { to.append_shared(std::vector{w.town, w.gone}, Damage{}); }},
      {"a line of entities that begins at a dead one",
       {RefusalCode::dead_entity, gone, TypeTraits<Damage>::id},
       [](BatchBuilder& to, const World& w) { to.append_subtree(w.gone, subtree_self, Damage{}); }},
      {"a message that cannot be taken back",
       {RefusalCode::not_in_step, {}, TypeTraits<CancelTimer>::id},
       [](BatchBuilder& to, const World&) { to.append_world(CancelTimer{.timer = 1}); }},
      {"a Step",
       {RefusalCode::not_in_step, {}, TypeTraits<Step>::id},
       [](BatchBuilder& to, const World& w) {
         BatchBuilder inner;
         inner.append(w.town, Destroy{});
         to.append_table(TypeTraits<Step>::id, {}, encode(step_of(inner)));
       }},
      {"a timed batch",
       {RefusalCode::not_in_step, {}, TypeTraits<Damage>::id},
       [](BatchBuilder& to, const World& w) {
         BatchBuilder inner;
         inner.append(w.town, Damage{});
         to.append_timed(5, 0, inner.front());
       }},
  };
  for (const Wrong& wrong : wrongs)
    for (std::size_t place = 0; place <= edits_of_each_kind; ++place) {
      CAPTURE(wrong.what, place);
      World world;
      SnapshotLog log(world.registry);
      world.registry.intern("hut");
      const auto contents = contents_of(world.registry);
      const auto ids = ids_of(world.registry);
      const std::uint64_t timers = world.registry.host().next_timer();
      BatchBuilder batches;
      for (std::size_t i = 0; i < edits_of_each_kind; ++i) {
        if (i == place) wrong.append(batches, world);
        append_edit(batches, world, i);
      }
      if (place == edits_of_each_kind) wrong.append(batches, world);
      const Receipt receipt = push_step(world.registry, step_of(batches, "all"));
      CHECK(receipt.refused == 1);
      CHECK(receipt.handled == 0);
      CHECK(receipt.unhandled == 0);
      CHECK(receipt.dead == 0);
      CHECK(std::string(name(receipt.refusal.code)) == name(wrong.refusal.code));
      CHECK(receipt.refusal.entity == wrong.refusal.entity);
      CHECK(receipt.refusal.type == wrong.refusal.type);
      CHECK(receipt.refusal.field == wrong.refusal.field);
      CHECK(log.text.ends_with("back end 0 "));
      CHECK(contents_of(world.registry) == contents);
      CHECK(ids_of(world.registry) == ids);
      CHECK(world.registry.host().next_timer() == timers);
      // The next Step, with the same ids, is applied.
      BatchBuilder good;
      for (std::size_t i = 0; i < edits_of_each_kind; ++i) append_edit(good, world, i);
      CHECK(push_step(world.registry, step_of(good)).refused == 0);
    }
}

TEST_CASE("what handlers push during a Step that is refused is dropped, but what they push before and after is not") {
  for (const bool refused : {true, false}) {
    CAPTURE(refused);
    World world;
    EntityRegistry& r = world.registry;
    SnapshotLog log(r);
    const Handlers all = [&] {
      Handlers made;
      made.add(r.subscribe("hit", [](const Damage&, Health& health, Entity self, Outbox& out, Spawner& spawner) {
        health.value = 77;
        for (int i = 0; i < 9; ++i) spawner.create_under(self, "wound", Armor{});
        out.post(self, game::Ping{});
        out.post_after(50, self, game::Ping{});
        out.destroy(self);
      }));
      made.add(r.subscribe("pinged",
                           [](const game::Ping&, Entity self, Outbox& out) { out.set(self, game::Count{.hits = 1}); }));
      return made;
    }();
    const auto ids = [&] { return ids_of(r); };
    const auto before = ids();
    BatchBuilder batches;
    batches.append(world.town, field(3));
    batches.append(world.town, Damage{});
    if (refused) batches.append(world.gone, Damage{});
    const auto lane = r.host().inbox().open_lane(1, 1u << 20, 10);
    BatchBuilder first, second;
    first.append(world.north, game::Ping{});
    r.add_type<Step>();
    second.append_table(TypeTraits<Step>::id, {}, encode(step_of(batches)));
    REQUIRE(lane->put(first.bytes()));
    REQUIRE(lane->put(second.bytes()));
    REQUIRE(lane->put(first.bytes()));
    r.flush();
    r.advance(100);
    CHECK(r.alive(world.town) == refused);
    CHECK(r.find<game::Count>(world.north) != nullptr);
    if (refused) {
      CHECK(r.find<game::Count>(world.town) == nullptr);
      CHECK(r.get<Health>(world.town).value != 3);
      CHECK(r.child_count(world.town) == 2);
      CHECK(r.host().timers().size() == 0);
      const auto after = ids();
      CHECK(r.host().counters().refused == 1);
      // The nine ids that the handler took are released.
      CHECK(std::ranges::count_if(after, [](std::uint64_t id) { return static_cast<std::uint32_t>(id) == 1; }) == 0);
    }
  }
}

TEST_CASE("a handler that is subscribed during a refused Step begins still") {
  World world;
  EntityRegistry& r = world.registry;
  SnapshotLog log(r);
  int called = 0;
  Subscription inner;
  const Subscription outer = r.subscribe("hit", [&](const Damage&, const Health&, Outbox& out) {
    inner = out.subscribe("later", [&](const game::Ping&, const Health&) { ++called; });
  });
  BatchBuilder batches;
  batches.append(world.town, Damage{});
  batches.append(world.gone, Damage{});
  CHECK(push_step(r, step_of(batches)).refused == 1);
  r.push(world.town, game::Ping{});
  CHECK(called == 1);
}

TEST_CASE("a registry without a log refuses a Step, and so does one whose host, handler or timer sends it") {
  World world;
  EntityRegistry& r = world.registry;
  r.add_type<Step>();
  BatchBuilder batches;
  batches.append(world.town, field(3));
  const Receipt without = push_step(r, step_of(batches));
  CHECK(without.refused == 1);
  CHECK(without.refusal.code == RefusalCode::no_edit_log);
  CHECK(without.refusal.type == TypeTraits<Step>::id);
  SnapshotLog log(r);
  BatchBuilder batch;
  batch.append_table(TypeTraits<Step>::id, {}, encode(step_of(batches)));
  CHECK(r.host().push_batch(batch.bytes()).refusal.code == RefusalCode::no_edit_log);
  const Subscription posts = r.subscribe(
      "posts", [&](const game::Ping&, const Health&, Outbox& out) { out.post(Entity{}, step_of(batches)); });
  r.push(world.town, game::Ping{});
  BatchBuilder timed;
  timed.append_timed(5, 0, batch.front());
  r.host().push_batch(timed.bytes(), 1, 1, 10);
  r.advance(10);
  CHECK(r.host().counters().refused == 4);
  CHECK(log.text.empty());
  CHECK(r.get<Health>(world.town).value == 100);
}

TEST_CASE("a replay of Steps, applied and refused, makes the same state and receipts") {
  const auto handlers = [](EntityRegistry& r) {
    return r.subscribe("hit", [](const Damage&, Health& health, Entity self, Spawner& spawner) {
      health.value += 1;
      spawner.create_under(self, "wound", Armor{});
    });
  };
  World first, second;
  const Subscription one = handlers(first.registry), two = handlers(second.registry);
  first.registry.add_type<Step>();
  second.registry.add_type<Step>();
  SnapshotLog log(first.registry), again(second.registry);
  Inputs inputs, replayed;
  first.registry.host().add_sink(inputs);
  second.registry.host().add_sink(replayed);
  for (std::size_t last = 0; last < edits_of_each_kind; ++last) {
    BatchBuilder batches;
    for (std::size_t i = 0; i < edits_of_each_kind; ++i)
      append_edit(batches, first, i == last ? edits_of_each_kind : i);
    if (last + 1 < edits_of_each_kind) batches.append(first.gone, Damage{});
    push_step(first.registry, step_of(batches));
    first.registry.flush();
  }
  for (const auto& [envelope, bytes] : inputs.all) second.registry.host().replay(envelope, bytes);
  CHECK(log.text == again.text);
  CHECK(log.text.find("end 1") != std::string::npos);
  CHECK(first.registry.hash() == second.registry.hash());
  REQUIRE(inputs.receipts.size() == replayed.receipts.size());
  for (std::size_t i = 0; i < inputs.receipts.size(); ++i) {
    CHECK(inputs.receipts[i].handled == replayed.receipts[i].handled);
    CHECK(inputs.receipts[i].refused == replayed.receipts[i].refused);
    CHECK(inputs.receipts[i].refusal.code == replayed.receipts[i].refusal.code);
  }
  first.registry.host().remove_sink(inputs);
  second.registry.host().remove_sink(replayed);
}

TEST_CASE("a Step of random edits does what its messages do one by one, or nothing if one of them would be refused") {
  std::size_t applied = 0, taken_back = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    EntityRegistry steps, singles;
    test::Sessions sessions(steps, seed), same(singles, seed);
    SnapshotLog log(steps), other(singles);
    steps.add_type<Step>();
    singles.add_type<Step>();
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      BatchBuilder batches;
      sessions.write(batches);
      const auto contents = contents_of(steps);
      const auto ids = ids_of(steps);
      const naive::StateRows saved = naive::saved_rows(steps);
      const Receipt receipt = push_step(steps, step_of(batches));
      if (receipt.refused == 0) {
        ++applied;
        const Receipt all = singles.host().push_batch(batches.bytes(), 1, 1, 10);
        REQUIRE(all.refused + all.dead == 0);
        REQUIRE(all.handled == receipt.handled);
        REQUIRE(contents_of(steps) == contents_of(singles));
        REQUIRE(ids_of(steps) == ids_of(singles));
        continue;
      }
      ++taken_back;
      REQUIRE(contents_of(steps) == contents);
      REQUIRE(ids_of(steps) == ids);
      EntityRegistry loaded;
      naive::RowsSource source(saved);
      REQUIRE(loaded.load(source));
      SnapshotLog third(loaded);
      const Receipt all = loaded.host().push_batch(batches.bytes(), 1, 1, 10);
      REQUIRE(all.refused + all.dead > 0);
    }
  }
  CHECK(applied > 50);
  CHECK(taken_back > 50);
}

}  // namespace steps_test
