#include <catch2/catch.hpp>

#include <optional>
#include <string>

#include <muster/registry.h>

#include "registry/host.h"
#include "tests/examples/managers/kept_rows.h"
#include "tests/examples/managers/things.h"

using namespace muster;
using namespace things;

TEST_CASE("a handler that is subscribed inside a handler begins at its turn in the queue") {
  EntityRegistry registry;
  std::string log;
  std::optional<Subscription> late;
  const auto first = registry.subscribe("first", [&](const Go& go, Outbox& out) {
    log += 'f' + std::to_string(go.step) + ' ';
    if (go.step != 0) return;
    out.post(Go{.step = 1});
    late = out.subscribe("late", [&](const Go& later) { log += 'l' + std::to_string(later.step) + ' '; });
    out.post(Go{.step = 2});
  });
  registry.push(Go{});
  CHECK(log == "f0 f1 f2 l2 ");
  late.reset();
  log.clear();
  registry.push(Go{.step = 3});
  CHECK(log == "f3 ");
}

TEST_CASE("a handler that is ended inside a handler is called until its turn in the queue") {
  EntityRegistry registry;
  std::string log;
  Subscription doomed;
  const auto first = registry.subscribe("first", [&](const Go& go, Outbox& out) {
    if (go.step != 0) return;
    out.post(Go{.step = 1});
    out.end(std::move(doomed));
    out.post(Go{.step = 2});
  });
  doomed = registry.subscribe("second", [&](const Go& go) { log += std::to_string(go.step) + ' '; });
  registry.push(Go{});
  CHECK(log == "0 1 ");
  CHECK_FALSE(static_cast<bool>(doomed));
}

TEST_CASE("a name that is taken when its turn comes is refused and counted") {
  EntityRegistry registry;
  int calls = 0;
  std::optional<Subscription> second;
  const auto first = registry.subscribe("first", [&](const Go& go, Outbox& out) {
    if (go.step == 0) second = out.subscribe("first", [&](const Go&) { ++calls; });
  });
  registry.push(Go{});
  registry.push(Go{.step = 1});
  CHECK(calls == 0);
  CHECK(registry.host().counters().refused == 1);
}

TEST_CASE("a handler that comes while its name is disabled is not called until it is enabled") {
  EntityRegistry registry;
  registry.set_handler_enabled("late", false);
  int calls = 0;
  const auto s = registry.subscribe("late", [&](const Go&) { ++calls; });
  registry.push(Go{});
  CHECK(calls == 0);
  registry.set_handler_enabled("late", true);
  registry.push(Go{});
  CHECK(calls == 1);
}

TEST_CASE("bubel 13: a disabled handler gets neither passes nor messages") {
  EntityRegistry registry;
  int passes = 0, gifts = 0;
  const auto a = registry.subscribe("system", [&](const Go&) { ++passes; });
  const auto b = registry.subscribe("system", [&](const Gift&, const Hits&) { ++gifts; });
  const Entity e = registry.create(Hits{});
  registry.set_handler_enabled("system", false);
  registry.push(Go{});
  registry.push(e, Gift{});
  CHECK((passes == 0 && gifts == 0));
  registry.set_handler_enabled("system", true);
  registry.push(Go{});
  registry.push(e, Gift{});
  CHECK((passes == 1 && gifts == 1));
}

TEST_CASE("disabling inside a handler takes effect at its turn; names are saved") {
  EntityRegistry registry;
  std::string log;
  const auto first = registry.subscribe("first", [&](const Go& go, Outbox& out) {
    if (go.step != 0) return;
    out.post(Go{.step = 1});
    out.set_handler_enabled("second", false);
    out.post(Go{.step = 2});
  });
  const auto second = registry.subscribe("second", [&](const Go& go) { log += std::to_string(go.step) + ' '; });
  registry.push(Go{});
  CHECK(log == "0 1 ");
  KeptRows rows;
  registry.save(rows);
  EntityRegistry loaded;
  REQUIRE(loaded.load(rows));
  CHECK(loaded.hash() == registry.hash());
  int calls = 0;
  const auto again = loaded.subscribe("second", [&](const Go&) { ++calls; });
  loaded.push(Go{.step = 3});
  CHECK(calls == 0);
  loaded.set_handler_enabled("second", true);
  loaded.push(Go{.step = 3});
  CHECK(calls == 1);
}

TEST_CASE("an end that was carried over and saved ends nobody in another process") {
  EntityRegistry registry({.cascade_messages_max = 1});
  Subscription doomed;
  const auto first = registry.subscribe("first", [&](const Go& go, Outbox& out) {
    if (go.step != 0) return;
    out.post(Go{.step = 1});
    out.end(std::move(doomed));
  });
  doomed = registry.subscribe("second", [](const Go&) {});
  CHECK(registry.push(Go{}).cut_short);
  KeptRows rows;
  registry.save(rows);
  EntityRegistry loaded;
  int calls = 0;
  const auto one = loaded.subscribe("one", [&](const Go&) { ++calls; });
  const auto two = loaded.subscribe("two", [&](const Go&) { ++calls; });
  const auto report = loaded.load(rows);
  REQUIRE(report);
  CHECK(report->lost_requests == 1);
  loaded.flush();
  loaded.push(Go{.step = 5});
  CHECK(calls == 2);
}

TEST_CASE(
    "requests of handlers that wait are saved and hashed without their numbers, and begin nobody in another process") {
  const auto begin = [](EntityRegistry& registry, std::optional<Subscription>& late, int& calls) {
    return registry.subscribe("first", [&](const Go& go, Outbox& out) {
      if (go.step != 0) return;
      out.post(Go{.step = 1});
      out.post(Go{.step = 2});
      late = out.subscribe("late", [&](const Go& later) { calls += later.step == 5; });
    });
  };
  EntityRegistry one({.cascade_messages_max = 1}), other({.cascade_messages_max = 1});
  std::optional<Subscription> late_of_one, late_of_other;
  int calls = 0;
  {
    const auto before = other.subscribe("before", [](const Go&) {});
  }  // so that numbers differ
  const auto a = begin(one, late_of_one, calls), b = begin(other, late_of_other, calls);
  CHECK(one.push(Go{}).cut_short);
  CHECK(other.push(Go{}).cut_short);
  CHECK(one.hash() == other.hash());
  KeptRows of_one, of_other;
  one.save(of_one);
  other.save(of_other);
  CHECK(of_one.kept == of_other.kept);

  // A handler that begins here has the number that the saved request had: it waits for its own turn all the same.
  EntityRegistry loaded({.cascade_messages_max = 1});
  std::optional<Subscription> late;
  int late_calls = 0;
  const auto c = begin(loaded, late, late_calls);
  const auto report = loaded.load(of_one);
  REQUIRE(report);
  CHECK(report->lost_requests == 1);
  loaded.push(Go{});           // the saved request waits behind what was saved with it, and comes before its own
  loaded.push(Go{.step = 5});  // which waits still
  CHECK(late_calls == 0);
  for (int i = 0; i < 6; ++i) loaded.flush();
  loaded.push(Go{.step = 5});
  CHECK(late_calls == 1);
}
