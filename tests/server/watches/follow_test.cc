#include <catch2/catch.hpp>

#include "registry/host.h"
#include "registry/profile.h"
#include "tests/server/arena.h"
#include "tests/server/live_world.h"
#include "tests/server/watches/changer.h"
#include "tests/server/watches/follower.h"
#include "tests/support/random.h"

namespace follow_test {

using namespace muster;
using namespace muster::testing;
using muster::test::Random;

namespace {

/// Tells watches of inputs, as a desk does.
struct InputTold final : InputSink {
  InputTold(EntityRegistry& of, Watches& to) : registry(of), watches(to) { registry.host().add_sink(*this); }
  ~InputTold() override { registry.host().remove_sink(*this); }
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    watches.on_input(envelope, batch, 0);
  }
  EntityRegistry& registry;
  Watches& watches;
};

/// What both know is the same as if the watch had been opened now.
void check_equals_new(Watched& world, const Follower& follower) {
  Follower fresh(world.registry, world.watches);
  session::Follow asked = follower.asked;
  asked.watch = 0;
  fresh.open(asked);
  fresh.read_all();
  REQUIRE(follower.known.rows == fresh.known.rows);
  REQUIRE(follower.known.values == fresh.known.values);
  REQUIRE(follower.known.structure == fresh.known.structure);
}

}  // namespace

TEST_CASE("children come in their order, with names, counts and components, and again when any of these changes",
          "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity town = r.create("town"), a = r.create_under(town, "a", arena::Health{}), b = r.create_under(town, "b");
  const Entity c = r.create_under(town, "c");
  Follower follower(r, world.watches);
  session::Follow what;
  what.open = {town};
  follower.open(what);
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.rows.size() == 3);
  REQUIRE(follower.known.rows[b].after == a);

  SECTION("a new order") {
    r.reparent(c, town, a);
    follower.read_all();
    REQUIRE(follower.known.rows[a].after == c);
  }
  SECTION("a name") { r.rename(b, "bee"); }
  SECTION("a grandchild") { r.create_under(b, "door").or_stop(); }
  SECTION("another component") { r.set(b, arena::Health{}); }
  SECTION("one that comes") { r.create_under(town, "d").or_stop(); }
  SECTION("one that leaves") { r.reparent(b, Entity{}); }
  SECTION("one that dies") { r.destroy(a); }
  SECTION("all of it") { r.destroy(town); }
  const std::uint64_t before = follower.messages;
  follower.read_all();
  follower.check();
  follower.read_all();
  REQUIRE(follower.messages - before <= 2);
}

TEST_CASE("nodes are opened and closed in an open watch, and only what is different comes", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity top = r.create("top");
  std::vector<Entity> nodes;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back(r.create_under(top, "node" + std::to_string(i)));
    r.create_under(nodes.back(), "leaf").or_stop();
    for (int k = 0; k < 9; ++k) r.create_under(nodes.back(), "leaf" + std::to_string(k)).or_stop();
  }
  Follower follower(r, world.watches);
  session::Follow what;
  what.open = {Entity{}, top};
  follower.open(what);
  follower.read_all();
  REQUIRE(follower.known.rows.size() == 101);
  for (const Entity node : nodes) {
    const std::uint64_t before = follower.messages;
    follower.change_more({.open = {node}});
    follower.read_all();
    REQUIRE(follower.messages - before == 2);  // Following, and one frame of rows
  }
  follower.check();
  REQUIRE(follower.known.rows.size() == 101 + 100 * 10);
  follower.change_more({.close = nodes});
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.rows.size() == 101);
}

TEST_CASE("entities with and without components come and go as their components do", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity a = r.create("a", arena::Health{.value = 1}), b = r.create("b", arena::Position{});
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = true;
  what.with = {health_id};
  what.without = {hidden_id};
  what.values = what.structure = true;
  follower.open(what);
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.structure.size() == 1);
  r.set(b, arena::Health{.value = 2});
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.values.contains(b));
  r.set(a, arena::Hidden{});
  r.remove<arena::Health>(b);
  follower.read_all();
  follower.check();
  REQUIRE(follower.known.structure.empty());
}

TEST_CASE("a watch that is changed brings the difference, not everything again", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const std::vector<Entity> units = r.create_many(5000, arena::Health{.value = 5}, arena::Position{});
  const Entity one = r.create("one", arena::Health{});
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = what.values = true;
  what.components = {health_id};
  follower.open(what);
  follower.read_all();
  follower.check();

  std::uint64_t before = follower.messages;
  what.open = {one};
  follower.change(what);
  follower.read_all();
  REQUIRE(follower.messages - before == 2);  // Following, and the end
  before = follower.messages;
  what.world = false;
  what.entities = {units[0], units[1]};
  follower.change(what);
  follower.read_all();
  follower.check();
  before = follower.messages;
  follower.change_more({.add = {units[2]}, .drop = {units[0]}});
  follower.read_all();
  follower.check();
  REQUIRE(follower.messages - before == 3);  // Following, one value, one that left
}

TEST_CASE("who is named and is not alive is told of as destroyed", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity gone = r.create("gone"), node = r.create("node");
  r.destroy(gone);
  Follower follower(r, world.watches);
  session::Follow what;
  what.entities = {gone, node};
  what.values = true;
  what.components = {health_id};
  what.open = {gone, node};
  follower.open(what);
  follower.read_all();
  REQUIRE(follower.messages == 2);  // Watching, Destroy
  follower.change_more({.open = {gone}});
  follower.read_all();
  follower.check();
}

TEST_CASE("messages that handlers post are told where their type is named, with the input that caused them",
          "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  Handlers handlers;
  handlers.add(r.subscribe("strike", [](const arena::Blast& blast, const arena::Health&, Entity self, Outbox& out) {
    out.post(self, arena::Damage{.amount = blast.power});
    out.post(arena::Chat{});
  }));
  const Entity a = r.create("a", arena::Health{}), b = r.create("b", arena::Health{});
  Follower all(r, world.watches), one(r, world.watches), none(r, world.watches);
  InputTold told(r, world.watches);
  session::Follow what;
  what.world = true;
  what.pushed = {TypeTraits<arena::Damage>::id};
  all.open(what);
  what.world = false;
  what.entities = {b};
  one.open(what);
  what.pushed = {};
  what.inputs = what.world = true;
  what.entities = {};
  none.open(what);
  r.push(a, arena::Blast{.power = 3});
  const std::uint64_t first = r.sequence();
  r.push(b, arena::Blast{.power = 4});
  for (Follower* each : {&all, &one, &none}) each->read_all();
  REQUIRE(all.events.size() == 2);
  REQUIRE(all.events[0].pushed);
  REQUIRE(all.events[0].type == TypeTraits<arena::Damage>::id);
  REQUIRE(all.events[0].envelope.sequence == first);
  REQUIRE(BatchView(std::span<const std::byte>(all.events[0].bytes)).target(0) == a);
  REQUIRE(one.events.size() == 1);
  REQUIRE(one.events[0].envelope.sequence == first + 1);
  REQUIRE(none.events.size() == 2);
  REQUIRE_FALSE(none.events[0].pushed);

  // With causes recorded they come without them, as inputs do.
  r.profile().record_causes(true);
  r.push(a, arena::Blast{.power = 5});
  r.profile().record_causes(false);
  for (Follower* each : {&all, &one, &none}) each->read_all();
  REQUIRE(all.events.size() == 3);
}

TEST_CASE("of what handlers post in a storm as much is kept as there is room for, and the rest is a Gap", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  Handlers handlers;
  handlers.add(r.subscribe("strike", [](const arena::Blast&, const arena::Health&, Entity self, Outbox& out) {
    out.post(self, arena::Damage{});
    out.post(self, arena::Chat{});  // so that each is a batch of its own
  }));
  const std::vector<Entity> units = r.create_many(100'000, arena::Health{});
  Follower follower(r, world.watches, {.data_bytes_max = 64u << 20});
  InputTold told(r, world.watches);
  session::Follow what;
  what.world = true;
  what.pushed = {TypeTraits<arena::Damage>::id};
  follower.open(what);
  follower.read_all();
  for (int round = 0; round < 2; ++round) {
    r.push(arena::Blast{});
    follower.read_all();
    REQUIRE(follower.events.size() > 10'000);
    REQUIRE(follower.lost > 0);
    REQUIRE(follower.events.size() + follower.lost == 100'000);
    follower.events.clear();
    follower.lost = 0;
  }
}

TEST_CASE("inputs are told but for those of the types that are left out", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  Follower follower(r, world.watches);
  InputTold told(r, world.watches);
  session::Follow what;
  what.world = what.inputs = true;
  what.inputs_except = {TypeTraits<Update>::id};
  follower.open(what);
  for (int i = 0; i < 5; ++i) r.push(Update{.dt = 1});
  const Entity orc = r.create();
  r.push(Update{.dt = 1});
  follower.read_all();
  REQUIRE(follower.events.size() == 1);
  REQUIRE(follower.events[0].type == TypeTraits<Create>::id);
  what.inputs_except = {};
  follower.change(what);
  r.push(Update{.dt = 1});
  r.destroy(orc);
  follower.read_all();
  REQUIRE(follower.events.size() == 3);
}

TEST_CASE("who named types of what is pushed costs nothing any more when the watch ends", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  {
    Follower follower(r, world.watches);
    session::Follow what;
    what.world = true;
    what.pushed = {TypeTraits<arena::Damage>::id};
    follower.open(what);
    REQUIRE(world.watches.hears_pushed());
    what.pushed = {};
    follower.change(what);
    REQUIRE_FALSE(world.watches.hears_pushed());
    what.pushed = {TypeTraits<arena::Damage>::id};
    follower.change(what);
    REQUIRE(world.watches.hears_pushed());
  }
  REQUIRE_FALSE(world.watches.hears_pushed());
}

TEST_CASE("changes of what cannot be changed are refused with the field named", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity orc = r.create("orc");
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = true;
  follower.open(what);
  const auto fault = [&](session::Follow asked) {
    const auto refused = world.watches.follow(follower.session, 77, asked, 64);
    REQUIRE(refused.has_value());
    return *refused;
  };
  const auto fault_more = [&](session::FollowMore asked, std::uint64_t request = 77) {
    const auto refused = world.watches.follow_more(*follower.session, request, asked);
    REQUIRE(refused.has_value());
    return *refused;
  };
  REQUIRE(fault({.watch = 99}).code == session::FaultCode::not_found);
  REQUIRE(fault({.with = {123}}).field == "with");
  REQUIRE(fault({.without = {TypeTraits<arena::Damage>::id}}).text == "arena.Damage is not a component");
  REQUIRE(fault({.values = true, .components = {TypeTraits<arena::Damage>::id}}).field == "components");
  REQUIRE(fault({.world = true, .pushed = {health_id}}).field == "pushed");
  REQUIRE(fault({.world = true, .pushed = {health_id}}).text == "arena.Health is not a message");
  REQUIRE(fault({.world = true, .inputs_except = {1}}).field == "inputs_except");
  REQUIRE(fault({.world = true, .entities = {orc}}).field == "entities");
  REQUIRE(fault({.rate_max = -1}).field == "rate_max");
  REQUIRE(fault_more({.watch = 99}).reason == "unknown_watch");
  REQUIRE(fault_more({.watch = follower.watch, .add = {orc}}).field == "add");
  REQUIRE(fault_more({.watch = follower.watch, .drop = {orc}}).field == "drop");
  REQUIRE(fault_more({.watch = follower.watch, .open = {orc}}, 0).field == "request");
  REQUIRE(fault_more({.watch = follower.watch, .open = {orc}}, follower.watch).reason == "request_in_use");
}

TEST_CASE("a client that does not read its changes is told to wait when they are many", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity node = r.create("node");
  for (int i = 0; i < 100; ++i) r.create_under(node, "").or_stop();
  Follower follower(r, world.watches, {.data_bytes_max = 1000});
  follower.open({});
  follower.change_more({.open = {node}});
  // The first one filled the queue.
  for (int i = 0; i < 128; ++i) {
    follower.change_more({.close = {node}});
    follower.change_more({.open = {node}});
  }
  const auto refused = world.watches.follow_more(*follower.session, 10'000, {.watch = follower.watch, .open = {node}});
  REQUIRE(refused.has_value());
  REQUIRE(refused->code == session::FaultCode::busy);
  follower.read_all();
  follower.check();
}

TEST_CASE("many long names do not end a session that reads slowly", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  const Entity town = r.create("town");
  for (int i = 0; i < 30'000; ++i) r.create_under(town, std::to_string(i) + std::string(240, 'n')).or_stop();
  Follower follower(r, world.watches);
  session::Follow what;
  what.world = what.structure = true;
  what.open = {town};
  follower.open(what);
  for (int i = 0; i < 10; ++i) world.watches.after_flush(0);
  REQUIRE_FALSE(follower.session->outgoing()->closed());
  follower.read_all();
  follower.check();
}

TEST_CASE("who changes a watch again and again without reading makes it remember no more than there is", "[follow]") {
  Watched world;
  EntityRegistry& r = world.registry;
  r.create_many(20'000, arena::Health{});
  const Entity town = r.create("town");
  for (int i = 0; i < 5000; ++i) r.create_under(town, "").or_stop();
  Follower follower(r, world.watches, {.data_bytes_max = 1000});
  follower.open({});
  session::Follow all, nobody;
  all.world = all.structure = all.values = true;
  all.open = {town};
  std::size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    follower.change(i % 2 ? nobody : all);
    most = std::max(most, world.watches.marks());
  }
  REQUIRE(most < 500'000);
  follower.change(all);
  follower.read_all();
  follower.check();
}

TEST_CASE("sessions follow over a socket, each its own, with the right to view", "[follow][socket]") {
  LiveWorld world;
  Client editor = world.client(), viewer = world.client(viewer_token);
  const auto town = editor.create({}, "town");
  const auto inn = editor.create(*town, "inn", arena::Health{.value = 7});
  REQUIRE(editor.create(*town, "well").has_value());
  session::Follow tree, values;
  tree.open = {*town};
  values.world = values.values = true;
  values.components = {health_id};
  const auto one = viewer.follow(tree), two = viewer.follow(values);
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  REQUIRE(editor.ask<session::GetInfo>()->watches == 2);
  const auto next = [&](std::uint64_t watch) {
    auto frame = viewer.next(watch, std::chrono::seconds(5));
    REQUIRE(frame.has_value());
    REQUIRE(frame->has_value());
    return std::move(**frame);
  };
  REQUIRE(next(*one).is<session::Watching>());
  const Received listed = next(*one);
  REQUIRE(listed.is_last());
  const auto rows = session::read<session::ChildRows>(listed.batch());
  REQUIRE(rows.names == std::vector<std::string>{"inn", "well"});
  REQUIRE(rows.after == std::vector<Entity>{Entity{}, *inn});
  REQUIRE(next(*two).is<session::Watching>());
  REQUIRE(session::read<session::Values>(next(*two).batch()).entities == std::vector<Entity>{*inn});

  REQUIRE(editor.reparent(*inn, *town).has_value());  // becomes the last one
  REQUIRE(session::read<session::ChildRows>(next(*one).batch()).entities.size() == 2);
  const auto changed = viewer.follow(*two, tree);
  REQUIRE(changed.has_value());
  REQUIRE(changed->watch == *two);
  REQUIRE(next(*two).is<session::Following>());
  const auto closed = viewer.follow_more({.watch = *one, .close = {*town}});
  REQUIRE(closed.has_value());
  REQUIRE(viewer.follow_more({.watch = 999}).error().fault.reason == "unknown_watch");
  REQUIRE(editor.follow_more({.watch = *one}).error().fault.reason == "unknown_watch");
  REQUIRE(viewer.unwatch(*one).has_value());
  REQUIRE(viewer.unwatch(*two).has_value());
  REQUIRE(editor.ask<session::GetInfo>()->watches == 0);
}

TEST_CASE("after random changes of world and watch every follower knows what a new one would", "[follow][random]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    Watched world;
    Changer changer(world.registry, seed);
    for (int i = 0; i < 60; ++i) changer.step();
    Random& random = changer.random();
    // The second one reads seldom, through a queue that holds little.
    Follower quick(world.registry, world.watches), slow(world.registry, world.watches, {.data_bytes_max = 600});
    quick.open(something(changer));
    slow.open(something(changer));
    for (int round = 0; round < 60; ++round) {
      for (std::uint64_t i = random.below(8); i > 0; --i) changer.step();
      world.watches.after_flush(0);
      for (Follower* each : {&quick, &slow}) {
        if (!random.percent(25)) continue;
        if (random.percent(50)) {
          each->change(something(changer));
          continue;
        }
        session::FollowMore more;
        if (const Entity e = changer.someone(); !each->asked.world && e) {
          const bool there = std::ranges::find(each->asked.entities, e) != each->asked.entities.end();
          (there ? more.drop : more.add).push_back(e);
        }
        if (const Entity e = changer.someone_or_nil(); e || random.percent(50)) {
          const bool there = std::ranges::find(each->asked.open, e) != each->asked.open.end();
          (there ? more.close : more.open).push_back(e);
        }
        each->change_more(more);
      }
      quick.read_all();
      quick.check();
      if (random.percent(10)) slow.read();
      if (random.percent(5)) {
        slow.read_all();
        slow.check();
      }
    }
    slow.read_all();
    slow.check();
    check_equals_new(world, quick);
    check_equals_new(world, slow);
  }
}

}  // namespace follow_test
