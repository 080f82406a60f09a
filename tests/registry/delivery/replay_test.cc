// A replay does what inputs did that a sink was told of: same state, same numbers, same receipts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"

namespace replay_test {

using namespace muster;

namespace {

struct Recorded {
  Envelope envelope;
  std::vector<std::byte> bytes;
};

/// Keeps what it is told of; refuses while `full`.
struct Journal final : InputSink {
  struct Full {};
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (full) throw Full{};
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  void on_receipt(const Envelope& envelope, const Receipt& receipt) noexcept override {
    told = told && inputs.back().envelope.sequence == envelope.sequence;
    handled += receipt.handled;
  }
  bool full = false, told = true;
  std::uint64_t handled = 0;
  std::vector<Recorded> inputs;
};

/// A game in which pings go on, spawns make children, and swearing takes long.
struct Game {
  explicit Game(RegistryOptions options = {}) : registry(options) {
    registry.add_type<Update>();
    registry.host().add_sink(journal);
    handlers.push_back(
        registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
    handlers.push_back(
        registry.subscribe("bounce", [](const game::Ping& ping, game::Health& health, Entity self, Outbox& out) {
          health.value += 1;
          if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
        }));
    handlers.push_back(
        registry.subscribe("spawn", [](const game::Spawn& spawn, const game::Health&, Entity self, Spawner& spawner) {
          for (std::uint32_t i = 0; i < spawn.children; ++i)
            spawner.create_under(self, "child", game::Health{.value = 3});
        }));
  }
  ~Game() { registry.host().remove_sink(journal); }
  Game(const Game&) = delete;
  Game& operator=(const Game&) = delete;

  Journal journal;
  EntityRegistry registry;
  std::vector<Subscription> handlers;
};

void check_replay(const Game& original, RegistryOptions options = {}) {
  Game again(options);
  for (const Recorded& one : original.journal.inputs) again.registry.host().replay(one.envelope, one.bytes);
  CHECK(again.registry.sequence() == original.registry.sequence());
  CHECK(again.registry.now_ns() == original.registry.now_ns());
  CHECK(again.registry.host().next_timer() == original.registry.host().next_timer());
  CHECK(again.registry.hash() == original.registry.hash());
  CHECK(again.journal.handled == original.journal.handled);
  REQUIRE(again.journal.inputs.size() == original.journal.inputs.size());
  for (std::size_t i = 0; i < again.journal.inputs.size(); ++i) {
    INFO("input " << i);
    const Recorded &a = original.journal.inputs[i], &b = again.journal.inputs[i];
    CHECK(b.bytes == a.bytes);
    CHECK((b.envelope.sequence == a.envelope.sequence && b.envelope.session == a.envelope.session &&
           b.envelope.user == a.envelope.user && b.envelope.request == a.envelope.request &&
           b.envelope.kind == a.envelope.kind && b.envelope.resumed == a.envelope.resumed &&
           b.envelope.drawn == a.envelope.drawn));
  }
  CHECK(again.journal.told);
}

/// A batch that creates `e` later, without a number of a timer.
std::vector<std::byte> create_later(std::uint64_t due_ns, Entity e) {
  BatchBuilder create, timed;
  create.append(e, Create{});
  timed.append_timed(due_ns, 0, create.front());
  const auto bytes = timed.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a replay does what inputs of every kind did") {
  Game original;
  EntityRegistry& r = original.registry;
  const Entity a = r.create("a", game::Health{}), b = r.create_under(a, "b", game::Health{.value = 5});
  r.create(game::Health{});  // straight into its row, from the second time on
  r.create(game::Health{});
  r.create_many(3, game::Health{.value = 1});
  r.create_many(3, game::Health{.value = 2});
  r.push(a, game::Spawn{.children = 4});
  r.post(b, game::Damage{.amount = 10});
  r.post(a, game::Spawn{.children = 1});
  r.post_at(50, a, game::Spawn{.children = 2});
  r.push(a, game::Ping{.hops = 3});
  r.advance(100);
  const auto lane = r.host().inbox().open_lane(7, 1u << 20, 3), other = r.host().inbox().open_lane(9, 1u << 20, 4);
  const Entity granted = r.host().grant(10, 7);
  BatchBuilder create;
  create.append_rows({granted.index + 2, 1}, Create{.parent = a}, game::Health{});
  REQUIRE(lane->put(create.bytes(), 41));
  REQUIRE(other->put(create_later(200, {granted.index + 3, 1}), 42));
  BatchBuilder hit;
  hit.append(a, game::Damage{.amount = 2});
  REQUIRE(other->put(hit.bytes(), 43));
  r.post(a, game::Ping{.hops = 2});
  r.flush();
  r.host().push_batch(create_later(150, {granted.index + 4, 1}), {.session = 7, .user = 3, .request = 3});
  r.advance(60);
  TemplateTree tree("squad");
  tree.set("", game::Health{.value = 9});
  r.define_template(tree);
  r.spawn("squad", {.parent = b, .name = "s", .count = 2}).or_stop();
  r.apply_template(b, "squad");
  r.cancel(r.post_at(1000, a, game::Damage{}));
  // Numbers are drawn when a timer is posted; one that has none gets it when it is delivered.
  r.host().post_batch(create_later(20'000, {granted.index + 5, 1}));
  r.post_at(20'000, a, game::Damage{});
  r.flush();
  r.intern("a text");
  r.destroy(r.find_path("/a/child~2"));
  r.host().return_grant(granted, 10);
  r.advance(10'000);
  REQUIRE(r.entity_count() > 15);
  CHECK(std::ranges::count_if(original.journal.inputs, [](const Recorded& one) { return one.envelope.user != 0; }) ==
        4);
  check_replay(original);
  check_replay(original, {.shortcuts = false});
}

TEST_CASE("a replay goes on with a cut cascade as often as it was gone on with, also by calls that had no input") {
  const RegistryOptions options{.cascade_messages_max = 5};
  Game original(options);
  EntityRegistry& r = original.registry;
  const Entity a = r.create("a", game::Health{});
  r.push(a, game::Ping{.hops = 40});
  CHECK_FALSE(r.spawn("nothing of that name"));  // goes on, and has no input
  CHECK_FALSE(r.spawn("nothing of that name"));
  r.post(a, game::Damage{});
  CHECK_FALSE(r.spawn("nothing of that name"));  // delivers the post
  r.create(game::Health{});
  original.journal.full = true;
  CHECK_THROWS_AS(r.push(a, game::Damage{}), Journal::Full);
  CHECK_THROWS_AS(r.advance(5), Journal::Full);
  original.journal.full = false;
  r.push(a, game::Damage{});
  r.flush();
  for (int i = 0; i < 20; ++i) r.push(a, game::Ping{.hops = 1});
  CHECK(r.host().counters().carried > 3);
  std::uint64_t resumed = 0;
  for (const Recorded& one : original.journal.inputs) resumed = std::max<std::uint64_t>(resumed, one.envelope.resumed);
  CHECK(resumed == 3);
  check_replay(original, options);
}

TEST_CASE("a replay draws ids where they were drawn, and none where a message only names the next one") {
  Game original;
  EntityRegistry& r = original.registry;
  const auto next = [&] { return Entity{static_cast<std::uint32_t>(r.host().storage().ids().indices()), 1}; };
  r.apply_template(next(), "nothing of that name");
  r.push(next(), Create{});
  r.post(next(), Create{});
  r.flush();
  original.journal.full = true;
  CHECK_THROWS_AS(r.create(game::Health{}), Journal::Full);
  CHECK_THROWS_AS(r.create("b", game::Health{}), Journal::Full);
  CHECK_THROWS_AS(r.create_many(5, game::Health{}), Journal::Full);
  original.journal.full = false;
  r.create(game::Health{});
  BatchBuilder create;
  create.append(next(), Create{});
  r.host().push_batch(create.bytes());  // of the host: whoever pushes so has the id
  r.create("a").or_stop();
  check_replay(original);
}

}  // namespace replay_test
