// The ids of what an edit destroyed are kept for it until they are released.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/model/state_rows.h"
#include "tests/registry/apply/snapshot_log.h"
#include "tests/registry/game.h"

namespace parked_ids_test {

using namespace muster;
using game::Armor, game::Health;
using test::contents_of, test::ids_of, test::push_step, test::SnapshotLog, test::step_of;

namespace {

/// A tree of six, and a plain entity.
struct World {
  EntityRegistry registry;
  Entity top = registry.create("top", Health{}), first = registry.create_under(top, "first", Health{1}),
         second = registry.create_under(top, "second", Armor{}), third = registry.create_under(top, "", Armor{}),
         leaf = registry.create_under(first, "leaf"), other = registry.create_under(first, "");
  Entity plain = registry.create(Health{3});
  std::vector<Entity> all{top, first, second, third, leaf, other, plain};

  bool parked(Entity e) const { return registry.host().storage().in_state(e, IdState::parked); }
  bool queued(Entity e) const {
    const auto& queue = registry.host().storage().ids().free_queue();
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (queue[i] == e.index) return true;
    return false;
  }
  std::size_t parked_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](Entity e) { return parked(e); }));
  }
  Receipt send(BatchBuilder& batches, std::uint64_t session = 1) {
    return registry.host().push_batch(batches.bytes(), session, 1, 10);
  }
  Receipt send_one(const std::function<void(BatchBuilder&)>& write, std::uint64_t session = 1) {
    BatchBuilder batches;
    write(batches);
    return send(batches, session);
  }
  Receipt destroy(Entity e) {
    return send_one([&](BatchBuilder& to) { to.append(e, Destroy{}); });
  }
  /// Sends a Create within a Step.
  Receipt revive(Entity e, const Create& how, StepAct act = StepAct::undo) {
    BatchBuilder batches;
    batches.append_rows(e, how, Health{4});
    return push_step(registry, step_of(batches, {}, act));
  }
  void release(std::vector<Entity> ids) {
    registry.add_type<ReleaseIds>();
    BatchBuilder batches;
    batches.append_table(TypeTraits<ReleaseIds>::id, {}, encode(ReleaseIds{.ids = std::move(ids)}));
    REQUIRE(registry.host().push_batch(batches.bytes()).handled == 1);
  }
};

/// The same state after it was saved and loaded, whose hash must be the same.
void load_from(EntityRegistry& to, const EntityRegistry& from) {
  const naive::StateRows rows = naive::saved_rows(from);
  naive::RowsSource source(rows);
  REQUIRE(to.load(source));
  REQUIRE(to.hash() == from.hash());
  REQUIRE(naive::saved_rows(to) == rows);
}

}  // namespace

TEST_CASE("whatever a session destroys, alone or with many, watched or not, its ids are parked with their generation") {
  const std::vector<std::function<void(BatchBuilder&, const World&)>> ways{
      [](BatchBuilder& to, const World& w) {
        to.append(w.top, Destroy{});
        to.append(w.plain, Destroy{});
      },
      [](BatchBuilder& to, const World& w) { to.append_shared(std::vector{w.plain, w.top}, Destroy{}); },
      [](BatchBuilder& to, const World& w) {
        to.append_shared(std::vector{w.leaf, w.first, w.top, w.plain}, Destroy{});
      },
  };
  for (const auto& way : ways)
    for (const bool watched : {false, true})
      for (const bool in_step : {false, true}) {
        CAPTURE(&way - ways.data(), watched, in_step);
        World world;
        SnapshotLog log(world.registry);
        Subscription watch;
        if (watched) watch = world.registry.subscribe("watch", [](const Deactivated&, Entity) {});
        BatchBuilder batches;
        way(batches, world);
        const Receipt receipt = in_step ? push_step(world.registry, step_of(batches)) : world.send(batches);
        CHECK(receipt.refused == 0);
        CHECK(world.parked_count() == world.all.size());
        CHECK(world.registry.entity_count() == 0);
        CHECK(world.registry.host().storage().ids().free_queue().empty());
        EntityRegistry loaded;
        load_from(loaded, world.registry);
        for (const Entity e : world.all) CHECK(loaded.host().storage().in_state(e, IdState::parked));
      }
}

TEST_CASE("what hosts, handlers and sessions without a log destroy is not parked") {
  World world;
  const auto destroys = [&](Entity e, std::uint64_t session) {
    world.send_one([&](BatchBuilder& to) { to.append(e, Destroy{}); }, session);
    CHECK_FALSE(world.registry.alive(e));
    CHECK(world.parked_count() == 0);
    CHECK(world.queued(e));
  };
  destroys(world.plain, 1);
  SnapshotLog log(world.registry);
  destroys(world.third, 0);
  world.registry.destroy(world.second);
  CHECK(world.queued(world.second));
  const Subscription dies = world.registry.subscribe(
      "dies", [](const game::Damage&, const Health&, Entity self, Outbox& out) { out.destroy(self); });
  world.send_one([&](BatchBuilder& to) { to.append(world.top, game::Damage{}); });
  CHECK_FALSE(world.registry.alive(world.top));
  CHECK(world.parked_count() == 0);
  CHECK(world.registry.host().storage().ids().free_queue().size() == world.all.size());
}

TEST_CASE("a parked id is created again only by a Step that is an undo or a redo, with all that a Create can say") {
  World world;
  SnapshotLog log(world.registry);
  world.destroy(world.second);
  REQUIRE(world.parked(world.second));
  const Create how{.parent = world.top, .before = world.third, .name = text_of("second")};
  const auto refused = [&](const Receipt& receipt) {
    CHECK(receipt.refused == 1);
    CHECK(receipt.refusal.code == RefusalCode::id_not_granted);
    CHECK(receipt.refusal.entity == world.second);
    CHECK(world.parked(world.second));
  };
  refused(world.send_one([&](BatchBuilder& to) { to.append_rows(world.second, how, Health{4}); }));
  refused(world.send_one([&](BatchBuilder& to) { to.append_rows(world.second, how, Health{4}); }, 0));
  refused(world.send_one([&](BatchBuilder& to) { to.append_shared(std::vector{world.second}, Create{}); }));
  refused(world.send_one([&](BatchBuilder& to) { to.append_shared(std::vector{world.second}, Create{}); }, 0));
  refused(world.revive(world.second, how, StepAct::edit));
  // A Create that is refused for another reason leaves the id parked, too.
  Create taken = how;
  taken.name = text_of("first");
  CHECK(world.revive(world.second, taken).refusal.code == RefusalCode::name_taken);
  CHECK(world.parked(world.second));

  CHECK(world.revive(world.second, how).handled == 1);
  CHECK(world.registry.alive(world.second));
  CHECK(world.registry.get<Health>(world.second).value == 4);
  CHECK(world.registry.next_sibling(world.first) == world.second);
  CHECK(world.registry.next_sibling(world.second) == world.third);
  CHECK(world.registry.find_child(world.top, "second") == world.second);
  refused(world.destroy(world.second).refused == 0 ? world.revive(world.second, how, StepAct::edit) : Receipt{});
  taken.clash = NameClash::suffix;
  CHECK(world.revive(world.second, taken, StepAct::redo).handled == 1);
  CHECK(world.registry.name(world.second) == "first~2");
}

TEST_CASE("a Spawn cannot use a parked id, not even in an undo") {
  World world;
  SnapshotLog log(world.registry);
  TemplateTree hut("hut");
  hut.set("", Health{});
  world.registry.define_template(hut);
  world.destroy(world.plain);
  BatchBuilder batches;
  append_spawn(batches, std::vector{world.plain}, Spawn{.what = text_of("hut")});
  CHECK(push_step(world.registry, step_of(batches, {}, StepAct::undo)).refusal.code == RefusalCode::id_not_granted);
  CHECK(world.parked(world.plain));
}

TEST_CASE("ids are released in the order of the list, as if they had been destroyed then; others are ignored") {
  World world, freed;  // the second one has no log
  SnapshotLog log(world.registry);
  world.destroy(world.top);
  world.destroy(world.plain);
  const Entity granted = world.registry.host().grant(70, 1);
  freed.registry.host().grant(70, 1);
  world.registry.host().return_grant(granted, 70);
  freed.registry.host().return_grant(granted, 70);
  const Entity held = world.registry.host().grant(3, 1);
  freed.registry.host().grant(3, 1);
  const std::vector<Entity> order{world.other, world.plain,  world.leaf, world.first,
                                  world.third, world.second, world.top};
  std::vector<Entity> listed = order;
  listed.insert(listed.begin() + 2, {Entity{}, held, granted, world.plain, {world.leaf.index, 9}, {9999, 1}});
  world.release(listed);
  for (const Entity e : order) freed.registry.destroy(e);
  CHECK(world.parked_count() == 0);
  CHECK(ids_of(world.registry) == ids_of(freed.registry));
  for (const Entity e : order) CHECK(world.registry.host().storage().ids().slot(e.index).generation == 2);
  world.release(order);  // has no effect
  CHECK(ids_of(world.registry) == ids_of(freed.registry));
}

TEST_CASE("a parked id whose generations are used up is created again, and is retired when it is released") {
  World world;
  constexpr std::uint32_t last = DirectoryLayout::generation_last;
  {
    SnapshotLog log(world.registry);
    world.destroy(world.plain);
    world.destroy(world.third);
  }
  naive::StateRows rows = naive::saved_rows(world.registry);
  for (const Entity e : {world.plain, world.third})
    std::memcpy(rows.at({StateSection::directory, 0, 0}).data() + 8 + e.index * 4, &last, 4);
  World late;
  naive::RowsSource source(rows);
  REQUIRE(late.registry.load(source));
  SnapshotLog log(late.registry);
  const Entity plain{world.plain.index, last}, third{world.third.index, last};
  CHECK(late.revive(plain, Create{}).handled == 1);
  CHECK(late.registry.alive(plain));
  late.destroy(plain);
  CHECK(late.parked(plain));
  CHECK(late.revive(plain, Create{}).handled == 1);
  late.destroy(plain);
  late.release({plain, third});
  for (const Entity e : {plain, third}) {
    CHECK_FALSE(late.parked(e));
    CHECK_FALSE(late.queued(e));
    CHECK(late.registry.host().storage().ids().slot(e.index).generation == 0);
  }
  CHECK(late.registry.host().storage().ids().retired() == 2);
  EntityRegistry loaded;
  load_from(loaded, late.registry);
}

TEST_CASE("parked ids go with their state when it is swapped, and come back with it") {
  World world;
  SnapshotLog log(world.registry);
  world.destroy(world.first);
  const std::uint64_t hash = world.registry.hash();
  RegistryState other = world.registry.host().make_state();
  REQUIRE(world.registry.host().swap_state(other));
  CHECK(world.parked_count() == 0);
  REQUIRE(world.registry.host().swap_state(other));
  CHECK(world.parked_count() == 3);
  CHECK(world.registry.hash() == hash);
  CHECK(world.revive(world.leaf, Create{.parent = world.top}).handled == 1);
  CHECK(world.registry.hash() != hash);
}

TEST_CASE("a returned grant does not free the ids of it that are parked") {
  World world;
  SnapshotLog log(world.registry);
  const Entity granted = world.registry.host().grant(100, 1);
  world.send_one([&](BatchBuilder& to) { to.append(granted, Create{}); });
  world.destroy(granted);
  world.registry.host().return_grant(granted, 100);
  CHECK(world.parked(granted));
  const Entity next = world.registry.host().grant(100, 1);
  CHECK((next.index > granted.index || next.index + 100 <= granted.index));
  world.release({granted});
  CHECK(world.queued(granted));
}

}  // namespace parked_ids_test
