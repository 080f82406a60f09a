#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
#include "registry/state/state.h"
#include "tests/registry/game.h"
#include "tests/registry/observe/json.h"

namespace causes_test {

using namespace muster;
using muster::test::Json;
using muster::test::JsonReader;

namespace {

struct Link {
  std::string message, cause, last_cause;
  friend bool operator==(const Link&, const Link&) = default;
};

/// Of each batch in a trace, by the name of its type; of several the last.
std::map<std::string, Link> links_of(const Json& json) {
  std::map<std::string, Link> links;
  for (const Json& event : json["traceEvents"].array) {
    if (event["ph"].text != "X" || event["cat"].text != "batch") continue;
    const Json& args = event["args"];
    const auto text = [&](const char* key) { return args.has(key) ? args[key].text : std::string(); };
    links[event["name"].text] = {text("message"), text("cause"), text("last_cause")};
  }
  return links;
}

std::string number(std::uint64_t sequence, int place) { return std::to_string(sequence) + "." + std::to_string(place); }

/// All that a program of many kinds of messages leaves behind: order, hashes, saved rows.
struct Left {
  std::vector<std::string> order;
  std::vector<std::uint64_t> hashes;
  std::vector<std::vector<std::byte>> rows;
};
struct Rows : StateSink {
  explicit Rows(Left& l) : left(l) {}
  void row(const StateKey&, std::uint64_t, std::span<const std::byte> bytes) override {
    left.rows.emplace_back(bytes.begin(), bytes.end());
  }
  Left& left;
};

Left run(bool causes, std::uint32_t workers) {
  Left left;
  ThreadPool pool(workers);
  EntityRegistry registry({.cascade_messages_max = 150, .executor = &pool, .pass_serial_below_ns = 0});
  registry.profile().record_causes(causes);
  Handlers handlers;
  const auto note = [&left](const std::string& what, Entity e) {
    left.order.push_back(what + " " + std::to_string(e.index));
  };
  handlers.add(registry.subscribe("tick", [](const Update&, const game::Health&, Entity self, Outbox& out) {
    out.post(self, game::Damage{});
    if (self.index % 3 == 0) out.post(self, game::Say{.text = "ouch"});
  }));
  handlers.add(registry.subscribe(
      "hit", [note](const game::Damage& damage, game::Health& health, Entity self, Outbox& out, Spawner& spawner) {
        note("hit", self);
        health.value -= damage.amount;
        if (health.value > 97) return;
        if (self.index % 2) out.set(self, game::Armor{}, game::Position{});
        const Entity both[] = {self, spawner.create_under({}, "shard", game::Armor{})};
        out.post(both, game::Heal{.amount = 1});
        out.post_subtree(self, subtree_self | subtree_descendants, game::Ping{.hops = 1});
        out.post_after(5, self, game::Ping{.hops = 0});
        if (health.value < 95) out.destroy(self);
      }));
  handlers.add(
      registry.subscribe("heal", [note](const game::Heal&, const game::Armor&, Entity self) { note("heal", self); }));
  handlers.add(registry.subscribe("say", [note](const game::SayView& say, const game::Health&, Entity self) {
    note(std::string(say.text()), self);
  }));
  handlers.add(
      registry.subscribe("ping", [note](const game::Ping& ping, const game::Health&, Entity self, Outbox& out) {
        note("ping", self);
        if (ping.hops) out.post(game::Ping{.hops = 0});
      }));
  registry.create_many(60, game::Health{});
  for (int i = 0; i < 12; ++i) {
    registry.push(Update{.dt = 1});
    left.hashes.push_back(registry.hash());
    Rows rows(left);
    registry.save(rows);
    registry.advance(3);
    left.hashes.push_back(registry.hash());
  }
  REQUIRE(registry.host().counters().carried > 0);
  left.hashes.push_back(registry.sequence());
  return left;
}

}  // namespace

TEST_CASE("causes: what a message made names it, down the chain, and a trace draws the arrows") {
  EntityRegistry registry;
  const auto tick = registry.subscribe(
      "tick", [](const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Damage{}); });
  const auto hit = registry.subscribe(
      "hit", [](const game::Damage&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Heal{}); });
  const auto heal = registry.subscribe("heal", [](const game::Heal&, const game::Health&, Entity self, Outbox& out) {
    if (self.index % 2) out.destroy(self);
  });
  registry.create_many(4, game::Health{});
  Trace trace;
  registry.profile().set_trace(&trace);
  registry.profile().observe(true);
  registry.push(Update{.dt = 1});
  CHECK(trace.json().find("cause") == std::string::npos);  // off

  registry.create_many(4, game::Health{});
  const auto before = registry.entity_count();
  registry.profile().record_causes(true);
  trace.clear();
  registry.push(Update{.dt = 1});
  const std::uint64_t s = registry.sequence();
  const int all = static_cast<int>(before);
  const Json json = JsonReader::read(trace.json());
  std::map<std::string, Link> links = links_of(json);
  CHECK(links["muster.Update"] == Link{number(s, 0), "", ""});
  CHECK(links["game.Damage"] == Link{number(s, 1), number(s, 0), ""});  // all of them by the one Update
  CHECK(links["game.Heal"] == Link{number(s, 1 + all), number(s, 1), number(s, all)});
  CHECK(links["muster.Destroy"].message == number(s, 1 + 2 * all));
  int begun = 0, ended = 0;
  for (const Json& event : json["traceEvents"].array) {
    begun += event["ph"].text == "s";
    ended += event["ph"].text == "f";
  }
  CHECK(begun == 3);
  CHECK(ended == 3);
}

TEST_CASE(
    "causes change nothing: order, hashes and saved rows are the same with and without, on one worker and on two") {
  for (const std::uint32_t workers : {1u, 2u}) {
    const Left without = run(false, workers), with = run(true, workers);
    CHECK(with.order == without.order);
    CHECK(with.hashes == without.hashes);
    CHECK(with.rows == without.rows);
    CHECK(without.order.size() > 500);
  }
}

TEST_CASE("causes reach every outbox of a pass on several workers") {
  const auto links = [](std::uint32_t workers) {
    ThreadPool pool(workers);
    EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
    const auto tick = registry.subscribe(
        "tick", [](const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Damage{}); });
    registry.create_many(3000, game::Health{});
    Trace trace;
    registry.profile().set_trace(&trace);
    registry.profile().observe(true);
    registry.profile().record_causes(true);
    registry.push(Update{.dt = 1});
    return links_of(JsonReader::read(trace.json()));
  };
  CHECK(links(2) == links(1));
  CHECK(links(2).at("game.Damage").cause == links(2).at("muster.Update").message);
}

}  // namespace causes_test
