// Cascades without end: what waits is bounded, time cuts them so that a replay has the same result,
// and they can be stopped.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

namespace endless_cascade_test {

using namespace muster;

namespace {

struct Recorded {
  Envelope envelope;
  std::vector<std::byte> bytes;
  std::vector<CascadeCut> cuts;  // behind this input, before the next one
};
struct Journal final : InputSink {
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}, {}});
  }
  void on_cut(const CascadeCut& cut) noexcept override { inputs.back().cuts.push_back(cut); }
  std::uint64_t cuts() const {
    std::uint64_t sum = 0;
    for (const Recorded& each : inputs) sum += each.cuts.size();
    return sum;
  }
  std::vector<Recorded> inputs;
};

/// A game in which every ping becomes two, and which says nothing.
struct Doubling {
  explicit Doubling(RegistryOptions options) : registry(quiet(std::move(options))) {
    registry.host().add_sink(journal);
    handlers.add(
        registry.subscribe("double", [](const game::Ping& ping, game::Health& health, Entity self, Outbox& out) {
          health.value += static_cast<float>(ping.hops % 7);
          out.post(self, game::Ping{.hops = ping.hops * 2 + 1});
          if (ping.hops % 3 == 0) out.post(self, game::Heal{.amount = 1});
          out.post(self, game::Ping{.hops = ping.hops * 2 + 2});
        }));
    handlers.add(registry.subscribe(
        "heal", [](const game::Heal& heal, game::Health& health) { health.value = health.value / 2 + heal.amount; }));
  }
  ~Doubling() { registry.host().remove_sink(journal); }
  Doubling(const Doubling&) = delete;
  Doubling& operator=(const Doubling&) = delete;
  static RegistryOptions quiet(RegistryOptions options) {
    if (!options.on_warning) options.on_warning = [](const std::string&) {};
    return options;
  }

  Journal journal;
  EntityRegistry registry;
  Handlers handlers;
};

void check_replay(const Doubling& original, RegistryOptions options) {
  Doubling again(std::move(options));
  for (const Recorded& each : original.journal.inputs) {
    for (const CascadeCut& cut : each.cuts)
      if (cut.resumed == 0) again.registry.host().expect_cut(cut);
    again.registry.host().replay(each.envelope, each.bytes);
    for (const CascadeCut& cut : each.cuts)
      if (cut.resumed != 0) again.registry.host().expect_cut(cut);
  }
  CHECK(again.registry.hash() == original.registry.hash());
  const RegistryCounters &a = again.registry.host().counters(), &b = original.registry.host().counters();
  CHECK(a.messages == b.messages);
  CHECK(a.carried == b.carried);
  CHECK(a.overtaken == b.overtaken);
  CHECK(a.dropped == b.dropped);
}

}  // namespace

TEST_CASE("a handler is switched off before what a cut cascade carries over") {
  Doubling game({.cascade_messages_max = 100});
  EntityRegistry& r = game.registry;
  const Entity orc = r.create("orc", game::Health{});
  CHECK(r.push(orc, game::Ping{}).cut_short);
  const std::uint64_t before = r.host().counters().messages;
  CHECK(r.set_handler_enabled("double", false).handled == 1);
  CHECK(r.host().counters().messages == before + 2);  // the text and the switch
  CHECK(r.host().carries());
  r.push(orc, game::Heal{});
  r.push(orc, game::Heal{});
  CHECK_FALSE(r.host().carries());
  check_replay(game, {.cascade_messages_max = 100});
}

TEST_CASE("what a cut cascade carries over is dropped by a message that does not wait for it") {
  Doubling game({.cascade_messages_max = 100});
  EntityRegistry& r = game.registry;
  const Entity orc = r.create("orc", game::Health{});
  CHECK(r.push(orc, game::Ping{}).cut_short);
  const std::uint64_t before = r.host().counters().messages;
  const Receipt receipt = r.push(DropCarried{});
  CHECK(receipt.handled == 1);
  CHECK_FALSE(receipt.cut_short);
  CHECK(r.host().counters().messages == before + 1);
  CHECK(r.host().counters().dropped > 50);
  CHECK_FALSE(r.host().carries());
  CHECK_FALSE(r.push(orc, game::Heal{}).cut_short);
  CHECK(r.push(DropCarried{}).handled == 1);  // nothing waits any more
  check_replay(game, {.cascade_messages_max = 100});
}

TEST_CASE("the memory of messages that are dropped is given back at once") {
  Doubling game({.cascade_messages_max = 300'000});
  EntityRegistry& r = game.registry;
  const Entity orc = r.create("orc", game::Health{});
  const std::size_t before = r.host().memory_waiting();
  r.push(orc, game::Ping{});
  CHECK(r.host().memory_waiting() > before + (4u << 20));
  r.push(DropCarried{});
  CHECK(r.host().memory_waiting() <= before + Arena::segment_bytes_default);
}

TEST_CASE("a handler that drops what is carried over drops what waits behind its own message") {
  EntityRegistry registry;
  std::string log;
  const Entity orc = registry.create("orc", game::Health{});
  const auto ping = registry.subscribe("ping", [&](const game::Ping& p, const game::Health&, Entity self, Outbox& out) {
    log += std::to_string(p.hops) + " ";
    if (p.hops != 0) return;
    out.post(self, game::Ping{.hops = 1});
    out.post(DropCarried{});
    out.post(DropCarried{});
    out.post(self, game::Ping{.hops = 2});
    out.post(self, game::Heal{});
  });
  CHECK_FALSE(registry.push(orc, game::Ping{}).cut_short);
  CHECK(log == "0 1 ");
  CHECK(registry.host().counters().dropped == 2);
}

TEST_CASE("the newest messages are dropped if more wait than the bound allows, and the oldest arrive") {
  std::string log;
  std::vector<std::string> said;
  EntityRegistry registry(
      {.carried_messages_max = 4, .on_warning = [&](const std::string& sentence) { said.push_back(sentence); }});
  const Entity orc = registry.create("orc", game::Health{});
  Handlers handlers;
  handlers.add(registry.subscribe(
      "ping", [&](const game::Ping& p, const game::Health&) { log += std::to_string(p.hops) + " "; }));
  handlers.add(registry.subscribe("heal", [&](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (std::uint32_t i = 0; i < 3; ++i) out.post(self, game::Ping{.hops = i});
    out.post(self, game::Damage{});
    for (std::uint32_t i = 4; i < 9; ++i) out.post(self, game::Ping{.hops = i});
  }));
  CHECK_FALSE(registry.push(orc, game::Heal{}).cut_short);
  CHECK(log == "0 1 2 ");
  CHECK(registry.host().counters().dropped == 5);
  CHECK(said == std::vector<std::string>{
                    "more than 4 messages or 268435456 bytes wait in a cascade (RegistryOptions::carried_messages_max, "
                    "carried_bytes_max); the newest are dropped, starting with game.Ping"});
}

TEST_CASE("bytes that wait are bounded too, tables by their own lengths") {
  std::string log;
  EntityRegistry registry({.carried_bytes_max = 100, .on_warning = [](const std::string&) {}});
  const Entity orc = registry.create("orc", game::Health{});
  Handlers handlers;
  handlers.add(registry.subscribe("say", [&](const game::SayView& say, const game::Health&) { log += say.text(); }));
  handlers.add(registry.subscribe("heal", [&](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    for (const char* text : {"a", "b", "c", "d", "e", "f"}) out.post(self, game::Say{.text = text});
  }));
  registry.push(orc, game::Heal{});
  CHECK(log.size() == 6 - registry.host().counters().dropped);
  CHECK(log.size() >= 2);
  CHECK(log.size() <= 4);
}

TEST_CASE("ids that dropped messages would have created are given back, and requests about handlers remain") {
  EntityRegistry registry({.carried_messages_max = 3, .on_warning = [](const std::string&) {}});
  const Entity orc = registry.create("orc", game::Health{});
  std::vector<Entity> made;
  int late = 0;
  Handlers handlers;
  handlers.add(
      registry.subscribe("spawn", [&](const game::Spawn& spawn, const game::Health&, Spawner& spawner, Outbox& out) {
        for (std::uint32_t i = 0; i < spawn.children; ++i) made.push_back(spawner.create(game::Health{.value = 1}));
        handlers.add(out.subscribe("late", [&](const game::Heal&, const game::Health&) { ++late; }));
      }));
  registry.push(orc, game::Spawn{.children = 10});
  REQUIRE(made.size() == 10);
  for (std::size_t i = 0; i < made.size(); ++i) {
    CHECK(registry.alive(made[i]) == (i < 3));
    CHECK_FALSE(registry.host().storage().in_state(made[i], IdState::reserved));
  }
  registry.push(orc, game::Heal{});
  CHECK(late == 1);
}

TEST_CASE("ids that carried messages would have created are given back if these are dropped on request") {
  EntityRegistry registry({.cascade_messages_max = 4, .on_warning = [](const std::string&) {}});
  const Entity orc = registry.create("orc", game::Health{});
  std::vector<Entity> made;
  const Handlers handlers{
      registry.subscribe("spawn", [&](const game::Spawn& spawn, const game::Health&, Spawner& spawner) {
        for (std::uint32_t i = 0; i < spawn.children; ++i) made.push_back(spawner.create(game::Health{.value = 1}));
      })};
  CHECK(registry.push(orc, game::Spawn{.children = 10}).cut_short);
  const auto count_reserved = [&] {
    return std::ranges::count_if(made,
                                 [&](Entity e) { return registry.host().storage().in_state(e, IdState::reserved); });
  };
  CHECK(count_reserved() > 0);
  registry.push(DropCarried{});
  CHECK(count_reserved() == 0);
  CHECK(registry.host().counters().dropped > 0);
}

TEST_CASE("the bound on what waits has the same result however messages are stored, and across a save") {
  std::vector<std::uint64_t> hashes;
  for (const int way : {0, 1, 2, 3}) {
    RegistryOptions options{.cascade_messages_max = 20'000, .carried_messages_max = 5000, .carried_bytes_max = 30'000};
    options.shortcuts = way != 1;
    if (way == 2) options.segment_bytes = 1024;
    auto game = std::make_unique<Doubling>(options);
    const Entity orc = game->registry.create("orc", game::Health{});
    for (int i = 0; i < 12; ++i) {
      game->registry.push(orc, game::Ping{.hops = static_cast<std::uint32_t>(i)});
      CHECK(game->registry.host().carries());
      if (way == 3 && i % 4 == 2) {
        const naive::StateRows rows = naive::saved_rows(game->registry);
        naive::RowsSource source(rows);
        auto loaded = std::make_unique<Doubling>(options);
        REQUIRE(loaded->registry.load(source).has_value());
        CHECK(loaded->registry.host().counters().dropped == game->registry.host().counters().dropped);
        game = std::move(loaded);
      }
    }
    CHECK(game->registry.host().counters().dropped > 1000);
    CHECK(game->registry.host().carried_bytes() < 5000 * 64);
    hashes.push_back(game->registry.hash());
  }
  CHECK(hashes == std::vector<std::uint64_t>(4, hashes[0]));
}

TEST_CASE("a cascade that time cuts short has the same result in a replay, which needs no clock") {
  Doubling game({.carried_messages_max = 300, .cascade_ns_max = 1});
  EntityRegistry& r = game.registry;
  const Entity orc = r.create("orc", game::Health{});
  for (std::uint32_t i = 0; i < 5; ++i) r.push(orc, game::Ping{.hops = i});
  r.post(orc, game::Ping{.hops = 9});
  r.flush();
  for (const std::uint64_t due : {30u, 30u, 50u, 70u}) r.post_at(due, orc, game::Ping{.hops = 20});
  r.advance(60);  // three due times, each with a run of its own
  r.set_handler_enabled("heal", false);
  r.push(orc, game::Ping{.hops = 1});
  r.host().begin_turn();
  r.push(orc, game::Ping{.hops = 2});  // the first run uses up the time of the turn
  r.push(orc, game::Ping{.hops = 3});
  r.host().begin_turn();
  r.push(orc, game::Ping{.hops = 4});
  CHECK(r.host().counters().dropped > 0);
  CHECK(game.journal.cuts() > 10);
  check_replay(game, {.carried_messages_max = 300});
  check_replay(game, {.carried_messages_max = 300, .cascade_ns_max = 1, .segment_bytes = 1024});
}

TEST_CASE("a replay takes a cut once, if it is passed twice, and leaves out those of earlier inputs") {
  Doubling game({.cascade_ns_max = 1});
  EntityRegistry& r = game.registry;
  const Entity orc = r.create("orc", game::Health{});
  r.push(orc, game::Ping{});
  r.push(orc, game::Ping{});
  Doubling again({});
  for (const Recorded& each : game.journal.inputs) {
    for (int twice = 0; twice < 2; ++twice)
      for (const CascadeCut& cut : each.cuts) again.registry.host().expect_cut(cut);
    again.registry.host().replay(each.envelope, each.bytes);
  }
  CHECK(again.registry.hash() == r.hash());
}

TEST_CASE("a cut by time is said once for each burst, with what to look at") {
  std::vector<std::string> said;
  EntityRegistry registry(
      {.cascade_ns_max = 1'000'000, .on_warning = [&](const std::string& sentence) { said.push_back(sentence); }});
  const Entity orc = registry.create("orc", game::Health{});
  const auto echo = registry.subscribe(
      "game.echo", [](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) { out.post(self, ping); });
  for (int i = 0; i < 4; ++i) CHECK(registry.push(orc, game::Ping{}).cut_short);
  CHECK(said == std::vector<std::string>{
                    "a cascade was cut short after 1 ms (RegistryOptions::cascade_ns_max); the rest, starting with "
                    "game.Ping, waits for the next input. \"game.echo\" handles game.Ping and posts messages: does it "
                    "ever stop?"});
  registry.push(DropCarried{});
  CHECK(registry.push(orc, game::Ping{}).cut_short);
  CHECK(said.size() == 1);  // at most once a second
}

}  // namespace endless_cascade_test
