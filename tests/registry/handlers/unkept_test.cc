// What handlers of messages that no journal keeps may do, and what is said to the others.
#include "registry/handlers/unkept.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "registry/apply/manager.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/registry/sight.h"

using namespace muster;
using game::Health;
using game::Ping;
using sight::Look;
using sight::ShoutView;

namespace {

struct Eyes {
  void seen(const Look& look) { last = look.at; }
  void shown(const Look&) const {}
  std::uint32_t last = 0;
};
struct Minds final : Manager {
  void seen(const Look& look) { last = look.at; }
  void shown(const Look&) const {}
  std::uint32_t last = 0;
};

void only_reads(const Look&, const Health&, Entity) {}
Verdict ends_it(Look& look, Lookup<const Health> health) {
  look.at += health.has(look.other);
  return Verdict::consume;
}

/// What is said when `subscribe` is called; "" where it is not refused.
template <class Subscribe>
std::string refused(Subscribe subscribe) {
  try {
    (void)subscribe();
  } catch (const SetupError& error) {
    return error.what();
  }
  return {};
}

std::string only_read(const std::string& what, const std::string& message = "sight.Look") {
  return "handler \"h\" of " + message + " " + what +
         ", but no journal records that message (journal: \"never\"), so its handlers may only read";
}

}  // namespace

TEST_CASE("a handler of a message that no journal keeps is refused where it could change what is saved") {
  EntityRegistry r;
  int seen = 0;
  Eyes eyes;
  Minds minds;
  CHECK(refused([&] { return r.subscribe("h", [](const Look&, Outbox&) {}); }) ==
        only_read("takes an Outbox or a Spawner"));
  CHECK(refused([&] { return r.subscribe("h", [](const ShoutView&, const Health&, Spawner&) {}); }) ==
        only_read("takes an Outbox or a Spawner", "sight.Shout"));
  CHECK(refused([&] { return r.subscribe("h", [](const Look&, Health*) {}); }) == only_read("writes a component"));
  CHECK(refused([&] { return r.subscribe("h", [](const Look&, std::span<Health>) {}); }) ==
        only_read("writes a component"));
  const std::string unsaid =
      only_read("has captures or an object but does not declare what it touches (external_reads, external_writes)");
  CHECK(refused([&] { return r.subscribe("h", [&seen](const Look&) { ++seen; }); }) == unsaid);
  CHECK(refused([&] { return r.subscribe("h", eyes, &Eyes::seen); }) == unsaid);
  CHECK(refused([&] { return r.subscribe("h", minds, &Minds::seen, {.external_writes = {"minds"}}); }) ==
        only_read("may change a manager, whose state is saved"));
  r.add_type<Health>();
  const TypeId look = TypeTraits<Look>::id;
  const auto nothing = [](const DynamicCall&) {};
  CHECK(refused([&] { return r.subscribe("h", DynamicShape{.message = look}, nothing); }) ==
        only_read("takes an Outbox or a Spawner"));
  CHECK(refused([&] { return r.subscribe("h", DynamicShape{.message = look, .pushes = false}, nothing); }) == unsaid);
  CHECK(r.host().handlers().handlers().empty());
}

TEST_CASE("a handler of a message that no journal keeps reads, and leaves what it wants outside") {
  EntityRegistry r;
  int seen = 0;
  Eyes eyes;
  Minds minds;
  std::vector<Subscription> all;
  all.push_back(r.subscribe<only_reads>("read"));
  all.push_back(r.subscribe("end", ends_it, {.priority = 9}));
  all.push_back(
      r.subscribe("count", [&seen](const Look&, const Health&) { ++seen; }, {.external_writes = {"figures"}}));
  all.push_back(r.subscribe("eyes", eyes, &Eyes::seen, {.external_writes = {"eyes"}}));
  all.push_back(r.subscribe("minds", std::as_const(minds), &Minds::shown, {.external_reads = {"minds"}}));
  all.push_back(r.subscribe("by id", DynamicShape{.message = TypeTraits<Look>::id, .pushes = false},
                            [](const DynamicCall&) {}, {.external_reads = {"script"}}));
  const Entity e = r.create(Health{});
  CHECK(r.push(e, Look{.at = 7}).handled == 1);
  CHECK(seen == 1);
  CHECK(eyes.last == 7);
}

TEST_CASE("what such a handler leaves outside does not come back by another that changes the world") {
  EntityRegistry r;
  int camera = 0;
  const auto look = [&] {
    return r.subscribe("look", [&camera](const Look& one) { camera = static_cast<int>(one.at); },
                       {.external_writes = {"camera"}});
  };
  const auto follow = [&](const char* name, HandlerOptions options) {
    return r.subscribe(
        name, [&camera](const Ping&, Health& health) { health.value = static_cast<float>(camera); },
        std::move(options));
  };
  const std::string comes_back =
      "handler \"follow\" changes the world and uses \"camera\", which handler \"look\" writes from a message that "
      "no journal records (journal: \"never\"): a replay would give a different world";
  {
    const Subscription first = look();
    CHECK(refused([&] { return follow("follow", {.external_reads = {"sky", "camera"}}); }) == comes_back);
    CHECK(refused([&] { return follow("follow", {.external_writes = {"camera"}}); }) == comes_back);
    // One that changes nothing may use it, as a renderer does; and others use other things.
    const Subscription draws = r.subscribe("draw", [&camera](const Ping&, const Health&) { ++camera; },
                                           {.external_reads = {"camera"}, .external_writes = {"screen"}});
    const Subscription other = follow("other", {.external_reads = {"screen"}});
  }
  const Subscription first = follow("follow", {.external_reads = {"camera"}});
  CHECK(refused(look) == comes_back);
}

TEST_CASE("inside a handler such a handler is refused when it would begin") {
  EntityRegistry r;
  std::vector<Subscription> later;
  const auto s = r.subscribe(
      "ping", [&](const Ping&, Outbox& out) { later.push_back(out.subscribe("h", [](const Look&, Health&) {})); });
  r.push(Ping{});
  CHECK(r.host().counters().refused == 1);
  const Entity e = r.create(Health{});
  CHECK(r.push(e, Look{}).unhandled == 1);
}
