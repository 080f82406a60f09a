// Messages of the game, one to a batch, of which nobody wants to know what became: they are taken by what was found of their like, and
// that comes to what judging each would.
#include <catch2/catch.hpp>

#include "server/edits/edit_cost.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;

namespace {

constexpr std::uint64_t ms = 1'000'000;

std::vector<std::byte> batch_of(const std::function<void(BatchBuilder&)>& write) {
  BatchBuilder builder;
  write(builder);
  const auto bytes = builder.bytes();
  return {bytes.begin(), bytes.end()};
}

BatchView view(const std::vector<std::byte>& bytes) { return BatchView(std::span<const std::byte>(bytes)); }

}  // namespace

TEST_CASE(
    "the steps of a message like one that was judged are those that judging it says, and of others none are known",
    "[limits]") {
  EntityRegistry registry;
  const Entity unit = registry.create("unit", arena::Health{}), other = registry.create("other");
  const Handlers kept(registry.subscribe("damage", [](const arena::Damage&, arena::Health&) {}));
  registry.add_type<arena::Chat>();
  registry.add_type<Set>();
  const ServerLimits limits;
  Seat from;
  EditJudge judge(registry, limits);
  const auto damage = batch_of([&](BatchBuilder& to) { to.append(unit, arena::Damage{}); });
  const auto another = batch_of([&](BatchBuilder& to) { to.append(other, arena::Damage{.amount = 5}); });
  CHECK(judge.steps_of_known(view(damage)) == 0);
  const auto cost = judge.judge(from, view(damage));
  REQUIRE(cost.has_value());
  REQUIRE(cost->steps > 0);
  CHECK(judge.steps_of_known(view(damage)) == cost->steps);
  CHECK(judge.steps_of_known(view(another)) == cost->steps);
  const std::vector<std::vector<std::byte>> others = {
      batch_of([&](BatchBuilder& to) { to.append(unit, arena::Chat{}); }),
      batch_of([&](BatchBuilder& to) {
        to.append(unit, arena::Damage{});
        to.append(unit, arena::Damage{});
      }),
      batch_of([&](BatchBuilder& to) { to.append_world(arena::Damage{}); }),
      batch_of([&](BatchBuilder& to) { to.append_subtree(unit, subtree_descendants, arena::Damage{}); }),
      batch_of([&](BatchBuilder& to) { to.append_shared(std::vector<Entity>{unit}, arena::Damage{}); }),
      batch_of([&](BatchBuilder& to) {
        to.set_causes(true);
        to.append(unit, arena::Damage{});
      }),
      batch_of([&](BatchBuilder& to) {
        BatchBuilder inner;
        inner.append(unit, arena::Damage{});
        to.append_timed(100, 0, inner.front());
      }),
      batch_of([&](BatchBuilder& to) { to.append(unit, Rename{}); }),
      batch_of([&](BatchBuilder& to) { to.append(unit, Destroy{}); }),
      batch_of([&](BatchBuilder& to) { to.append_rows(unit, Set{}, arena::Health{}); })};
  for (std::size_t i = 0; i < others.size(); ++i) {
    CAPTURE(i);
    CHECK(judge.steps_of_known(view(others[i])) == 0);
    REQUIRE(judge.judge(from, view(others[i])).has_value());
    // Nor afterwards, but of the message of the game.
    CHECK((judge.steps_of_known(view(others[i])) > 0) == (i == 0));
  }
}

TEST_CASE("a message known to be cheap is as dear as its handlers take lately, and cheap again when they are quick",
          "[limits]") {
  EntityRegistry registry;
  const Entity unit = registry.create("unit", arena::Health{});
  const Handlers kept(registry.subscribe("damage", [](const arena::Damage&, arena::Health&) {}));
  const ServerLimits limits;
  Seat from;
  EditJudge judge(registry, limits);
  const auto damage = batch_of([&](BatchBuilder& to) { to.append(unit, arena::Damage{}); });
  const std::uint64_t cheap = judge.judge(from, view(damage))->steps;
  judge.took(view(damage), 1, 1000);
  CHECK(judge.steps_of_known(view(damage)) == cheap);
  judge.took(view(damage), 1, 5 * ms);
  const std::uint64_t dear = judge.steps_of_known(view(damage));
  CHECK(dear > 900);
  CHECK(cheap < 5);
  CHECK(judge.judge(from, view(damage))->steps == dear);
  for (int i = 0; i < 200; ++i) {
    judge.took(view(damage), 1, 1000);
    CHECK(judge.steps_of_known(view(damage)) == judge.judge(from, view(damage))->steps);
  }
  CHECK(judge.steps_of_known(view(damage)) == cheap);
}

TEST_CASE("messages that nobody asks about are taken in order with what comes between them", "[edits]") {
  HandDesk hand;
  std::vector<float> taken;
  const Handlers kept(hand.registry.subscribe("damage", [&](const arena::Damage& damage, arena::Health& health) {
    taken.push_back(damage.amount);
    health.value -= damage.amount;
  }));
  const Entity unit = hand.registry.create("unit", arena::Health{.value = 1000});
  const auto session = hand.join();
  hand.settle();
  HandDesk::heard(*session);
  for (int i = 1; i <= 300; ++i) {
    const std::uint64_t request = i % 10 == 0 ? static_cast<std::uint64_t>(i) : 0;
    hand.edit(*session, request,
              [&](BatchBuilder& to) { to.append(unit, arena::Damage{.amount = 1 + 0.001f * static_cast<float>(i)}); });
    if (i == 150) hand.ask(*session, 1000, session::GetInfo{});
  }
  hand.settle();
  CHECK(taken.size() == 300);
  CHECK(std::ranges::is_sorted(taken));
  CHECK(session->seat()->edits == 300);
  CHECK(session->requests.bytes() == 0);
  CHECK(session->seat()->edit_waits.all() == 300);
  std::uint64_t acks = 0, infos = 0;
  for (const Received& frame : HandDesk::heard(*session)) {
    acks += frame.is<session::Ack>();
    infos += frame.is<session::Info>();
  }
  CHECK(acks == 30);
  CHECK(infos == 1);
}

TEST_CASE("messages that nobody asks about take the turn that their handlers' time makes of them", "[abuse]") {
  HandDesk hand;
  bool slow = false;
  int taken = 0;
  const Handlers kept(hand.registry.subscribe("damage", [&](const arena::Damage&, arena::Health&) {
    ++taken;
    if (slow) hand.time_ns += ms;
  }));
  const Entity unit = hand.registry.create("unit", arena::Health{.value = 1000});
  const auto mean = hand.join("mean"), honest = hand.join("honest");
  const auto hit = [&](Session& from) {
    hand.edit(from, 0, [&](BatchBuilder& to) { to.append(unit, arena::Damage{}); });
  };
  for (int i = 0; i < 50; ++i) hit(*mean);
  hand.flush();
  CHECK(taken == 50);
  slow = true;
  for (int i = 0; i < 50; ++i) hit(*mean);
  hit(*honest);
  hand.flush();
  // One turn of the mean one at most goes first, and a flush ends after about intake_steps, which are 2 ms.
  CHECK(honest->seat()->edits == 1);
  CHECK(honest->seat()->edit_waits.longest_ns() <= 2 * ms);
  CHECK(mean->seat()->edits - 50 <= 4);
}

TEST_CASE("while inputs are not recorded, messages that nobody asks about do not come into the world", "[edits]") {
  std::string error;
  HandDesk hand({}, [&](HandWorld& host) {
    host.gives_error = [&]() -> const std::string* { return error.empty() ? nullptr : &error; };
  });
  int taken = 0;
  const Handlers kept(hand.registry.subscribe("damage", [&](const arena::Damage&, arena::Health&) { ++taken; }));
  const Entity unit = hand.registry.create("unit", arena::Health{.value = 1000});
  const auto session = hand.join();
  const auto hit = [&] { hand.edit(*session, 0, [&](BatchBuilder& to) { to.append(unit, arena::Damage{}); }); };
  for (int i = 0; i < 3; ++i) hit();
  hand.flush();
  CHECK(taken == 3);
  error = "the disk is full";
  for (int i = 0; i < 3; ++i) hit();
  hand.flush();
  CHECK(taken == 3);
  CHECK(session->seat()->edits == 3);
  CHECK(session->requests.bytes() == 0);
  error.clear();
  hit();
  hand.flush();
  CHECK(taken == 4);
}
