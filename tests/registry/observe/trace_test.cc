#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
#include "tests/registry/game.h"
#include "tests/registry/observe/json.h"

namespace trace_test {

using namespace muster;
using muster::test::Json;
using muster::test::JsonReader;

namespace {

struct Slice {
  std::string name, category;
  long long begin = 0, end = 0;  // ns
  long track = 0;
  Json args;
};

std::vector<Slice> slices_of(const Json& json) {
  std::vector<Slice> slices;
  for (const Json& event : json["traceEvents"].array) {
    if (event["ph"].text != "X") continue;
    const auto ns = [&](const char* key) { return std::llround(event[key].number * 1000); };
    slices.push_back({event["name"].text, event["cat"].text, ns("ts"), ns("ts") + ns("dur"),
                      std::lround(event["tid"].number), event["args"]});
  }
  return slices;
}

/// Slices of a track either lie within each other or apart, outer ones first.
void check_nesting(const std::vector<Slice>& slices) {
  for (const Slice& a : slices)
    for (const Slice& b : slices) {
      if (&a >= &b || a.track != b.track) continue;
      const bool apart = b.begin >= a.end, within = b.begin >= a.begin && b.end <= a.end;
      CHECK((apart || within));
    }
}

const Slice* around(const std::vector<Slice>& slices, const Slice& inner, const std::string& category) {
  for (const Slice& slice : slices)
    if (slice.category == category && slice.track == 0 && slice.begin <= inner.begin && inner.end <= slice.end)
      return &slice;
  return nullptr;
}

void tick(const Update&, const game::Health&, Entity self, Outbox& out) { out.post(self, game::Damage{}); }
void hit(const game::Damage& damage, game::Health& health) { health.value -= damage.amount; }

}  // namespace

TEST_CASE("a trace holds inputs, in them batches, in them handlers, and reads as JSON") {
  EntityRegistry registry;
  const auto t = registry.subscribe<tick>("move \"all\"\\\n");
  const auto s = registry.subscribe<hit>("hit");
  registry.create_many(300, game::Health{});
  Trace trace;
  registry.profile().set_trace(&trace);
  registry.push(Update{.dt = 1});  // not observed
  CHECK(trace.slices() == 0);
  registry.profile().observe(true);
  registry.push(Update{.dt = 1});
  registry.flush();  // nothing to do: no input
  registry.profile().observe(false);
  registry.push(Update{.dt = 1});
  CHECK(trace.slices() == 5);
  CHECK(trace.left_out() == 0);

  const Json json = JsonReader::read(trace.json());
  CHECK(json["otherData"]["left_out"].number == 0);
  const std::vector<Slice> slices = slices_of(json);
  REQUIRE(slices.size() == 5);
  check_nesting(slices);
  std::vector<std::string> names;
  for (const Slice& slice : slices) names.push_back(slice.category + " " + slice.name);
  CHECK(names == std::vector<std::string>{"input push", "batch muster.Update", "handler move \"all\"\\\n",
                                          "batch game.Damage", "handler hit"});
  CHECK(slices[0].begin == 0);
  CHECK(slices[0].args["sequence"].number == static_cast<double>(registry.sequence() - 1));
  CHECK(slices[1].args["messages"].number == 1);
  CHECK(slices[2].args["rows"].number == 300);
  CHECK(slices[3].args["messages"].number == 300);
  CHECK(slices[4].args["rows"].number == 300);
  CHECK(around(slices, slices[2], "batch") == &slices[1]);
  CHECK(around(slices, slices[4], "batch") == &slices[3]);
  for (std::size_t i = 1; i < slices.size(); ++i) CHECK(around(slices, slices[i], "input") == &slices[0]);
}

TEST_CASE("a trace keeps the newest slices and counts those it lost") {
  EntityRegistry registry;
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create(game::Health{});
  Trace trace(10);
  registry.profile().set_trace(&trace);
  registry.profile().observe(true);
  for (int i = 0; i < 20; ++i) registry.push(orc, game::Damage{});
  CHECK(trace.slices() == 10);
  CHECK(trace.left_out() == 50);
  const Json json = JsonReader::read(trace.json());
  CHECK(json["otherData"]["left_out"].number == 50);
  const std::vector<Slice> slices = slices_of(json);
  CHECK(slices.size() == 10);
  check_nesting(slices);
  CHECK(std::ranges::any_of(slices, [&](const Slice& slice) {
    return slice.category == "input" && slice.args["sequence"].number == static_cast<double>(registry.sequence());
  }));
}

TEST_CASE("of a trace that is full every slice is newer than those it lost") {
  EntityRegistry registry;
  Trace trace(4);
  registry.profile().set_trace(&trace);
  registry.profile().observe(true);
  const Entity orc = registry.create(game::Health{});
  for (int i = 0; i < 5; ++i) registry.push(orc, game::Damage{});
  // Nobody handles it: an input and its batch each time.
  std::vector<double> sequences;
  for (const Slice& slice : slices_of(JsonReader::read(trace.json())))
    if (slice.category == "input") sequences.push_back(slice.args["sequence"].number);
  const auto newest = static_cast<double>(registry.sequence());
  CHECK(sequences == std::vector<double>{newest - 1, newest});
}

TEST_CASE("a trace that was cleared is as a new one") {
  EntityRegistry registry;
  const Entity orc = registry.create(game::Health{});
  const auto kept = [&](Trace& trace) {
    registry.profile().set_trace(&trace);
    registry.profile().observe(true);
    const std::uint64_t before = registry.sequence();
    for (int i = 0; i < 4; ++i) registry.push(orc, game::Damage{});
    std::vector<double> inputs;
    for (const Slice& slice : slices_of(JsonReader::read(trace.json())))
      if (slice.category == "input") inputs.push_back(slice.args["sequence"].number - static_cast<double>(before));
    return inputs;
  };
  // Wherever its ring stood.
  for (std::size_t slices_max = 3; slices_max < 10; ++slices_max) {
    CAPTURE(slices_max);
    Trace fresh(slices_max), cleared(slices_max);
    kept(cleared);
    cleared.clear();
    CHECK(cleared.slices() == 0);
    CHECK(cleared.left_out() == 0);
    CHECK(kept(cleared) == kept(fresh));
    CHECK(cleared.slices() == fresh.slices());
    CHECK(cleared.left_out() == fresh.left_out());
  }
  registry.profile().set_trace(nullptr);
}

TEST_CASE("a trace of handlers that take turns shows the first of their calls and counts the others") {
  EntityRegistry registry;
  // Who may end a delivery is asked message by message.
  const auto armor = registry.subscribe("armor", [](game::Damage& damage, const game::Armor& a) {
    damage.amount *= a.factor;
    return Verdict::proceed;
  });
  const auto s = registry.subscribe<hit>("hit");
  const Entity orc = registry.create(game::Health{}, game::Armor{});
  Trace trace;
  registry.profile().set_trace(&trace);
  registry.profile().observe(true);
  for (int i = 0; i < 1000; ++i) registry.post(orc, game::Damage{});
  registry.flush();
  const std::vector<Slice> slices = slices_of(JsonReader::read(trace.json()));
  check_nesting(slices);
  CHECK(slices.size() == 2 + 16);
  CHECK(trace.left_out() > 0);
}

TEST_CASE("a trace of a pass on several workers has a track for each") {
  ThreadPool pool(2);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  const auto t = registry.subscribe<tick>("move");
  const auto s = registry.subscribe<hit>("hit");
  registry.create_many(5000, game::Health{});
  Trace trace;
  registry.profile().set_trace(&trace);
  registry.profile().observe(true);
  for (int i = 0; i < 5; ++i) registry.push(Update{.dt = 1});
  const Json json = JsonReader::read(trace.json());
  const std::vector<Slice> slices = slices_of(json);
  check_nesting(slices);
  double rows = 0;
  for (const Slice& slice : slices) {
    if (slice.name != "move") continue;
    CHECK(slice.track >= 1);
    CHECK(slice.track <= 2);
    rows += slice.args["rows"].number;
    const Slice* const batch = around(slices, slice, "batch");
    REQUIRE(batch);
    CHECK(batch->name == "muster.Update");
  }
  CHECK(rows == 5 * 5000);
  std::vector<std::string> tracks;
  for (const Json& event : json["traceEvents"].array)
    if (event["ph"].text == "M" && event["name"].text == "thread_name") tracks.push_back(event["args"]["name"].text);
  REQUIRE(tracks.size() >= 2);
  CHECK(tracks[0] == "registry");
  CHECK(tracks[1] == "worker 1");
}

}  // namespace trace_test
