// What people suffer from in other remote editors, each with the remedy that this one has.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>

#include "tests/server/desk/hand_desk.h"

namespace pains_test {

using namespace muster;
using muster::testing::HandDesk;

namespace {

constexpr TypeId health = TypeTraits<arena::Health>::id;

session::Follow values_of_all() {
  session::Follow what;
  what.world = what.values = true;
  what.components = {health};
  return what;
}

/// What a client puts together of what a watch brings.
struct Copy {
  std::map<Entity, float> values;
  std::map<Entity, FrameEnvelope> as_of;
  std::uint64_t watching = 0, events = 0, lost = 0, unwatched = 0, last_sequence = 0;
  bool whole = false;

  void take(std::span<const Received> frames, std::uint64_t watch) {
    for (const Received& frame : frames) {
      if (frame.header.request != watch) continue;
      if (frame.is<session::Watching>()) {
        ++watching;
        whole = frame.is_last();
      } else if (frame.is<session::Unwatched>()) {
        ++unwatched;
      } else if (frame.is<session::Gap>()) {
        lost += session::read<session::Gap>(frame.batch()).lost;
      } else if (frame.is_event()) {
        ++events;
      } else {
        CHECK(frame.envelope.sequence >= last_sequence);
        last_sequence = frame.envelope.sequence;
        whole = frame.is_last();
        if (!frame.is<session::Values>()) continue;
        const auto rows = session::read<session::Values>(frame.batch());
        for (std::size_t i = 0; i < rows.entities.size(); ++i) {
          std::memcpy(&values[rows.entities[i]], &rows.values[i * rows.value_bytes], sizeof(float));
          as_of[rows.entities[i]] = frame.envelope;
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("a watcher that is behind is not cut: it has the newest values, and is told how many events it lost",
          "[pains]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{});
  OutgoingLimits small;
  small.data_bytes_max = 2000;
  const auto slow = world.join("slow", session::Role::view, small), edits = world.join("edits");
  session::Follow what = values_of_all();
  what.inputs = true;
  world.ask(*slow, 5, what);
  world.settle();
  Copy copy;
  copy.take(HandDesk::heard(*slow), 5);
  constexpr std::uint64_t changes = 500;
  for (std::uint64_t i = 1; i <= changes; ++i) {
    world.edit(*edits, i,
               [&](BatchBuilder& out) { out.append_rows(unit, Set{}, arena::Health{.value = static_cast<float>(i)}); });
    world.flush();
    HandDesk::heard(*edits);
  }
  CHECK_FALSE(slow->outgoing()->closed());
  for (int i = 0; i < 50; ++i) {
    copy.take(HandDesk::heard(*slow), 5);
    world.flush();
  }
  CHECK(copy.values[unit] == changes);
  CHECK(copy.whole);
  CHECK(copy.events > 0);
  CHECK(copy.lost > 0);
  CHECK(copy.events + copy.lost == changes);
}

TEST_CASE("two who watch the same are each told the state and every change, and who stops watching stops nobody else",
          "[pains]") {
  HandDesk world;
  const std::vector<Entity> units = world.registry.create_many(100, arena::Health{.value = 1});
  const auto one = world.join("one"), other = world.join("other");
  Copy of_one, of_one_more, of_other;
  world.ask(*one, 5, values_of_all());
  world.ask(*one, 6, values_of_all());
  world.settle();
  const auto read = [&] {
    const auto to_one = HandDesk::heard(*one), to_other = HandDesk::heard(*other);
    of_one.take(to_one, 5);
    of_one_more.take(to_one, 6);
    of_other.take(to_other, 5);  // the same number, of another session
  };
  read();
  world.ask(*other, 5, values_of_all());
  world.settle();
  read();
  for (const Copy* copy : {&of_one, &of_one_more, &of_other}) {
    CHECK(copy->watching == 1);
    CHECK(copy->whole);
    CHECK(copy->values.size() == units.size());
  }
  const auto change = [&](float value) {
    for (const Entity e : units) world.registry.set(e, arena::Health{.value = value});
    world.settle();
    read();
  };
  const auto all_are = [&](const Copy& copy, float value) {
    return std::ranges::all_of(copy.values, [&](const auto& each) { return each.second == value; });
  };
  for (float value = 2; value < 6; ++value) {
    change(value);
    for (const Copy* copy : {&of_one, &of_one_more, &of_other}) CHECK(all_are(*copy, value));
  }
  world.ask(*one, 7, session::Unwatch{.watch = 5});
  world.settle();
  change(9);
  CHECK(all_are(of_one, 5));
  CHECK(all_are(of_one_more, 9));
  CHECK(all_are(of_other, 9));
}

TEST_CASE("the state is the world at one sequence, and nothing that is newer comes before all of it", "[pains]") {
  HandDesk world;
  const std::vector<Entity> units = world.registry.create_many(20'000, arena::Health{.value = 1});
  OutgoingLimits small;
  small.data_bytes_max = 1;
  const auto slow = world.join("slow", session::Role::view, small);
  world.ask(*slow, 5, values_of_all());
  world.settle();
  const std::uint64_t begun = world.registry.sequence();
  Copy copy;
  int turns = 0;
  float value = 2;
  for (; !copy.whole; ++turns, ++value) {
    REQUIRE(turns < 1000);
    copy.take(HandDesk::heard(*slow), 5);
    if (!copy.values.empty() && !copy.whole) CHECK(copy.last_sequence <= begun);
    if (copy.whole) break;
    for (const Entity e : units) world.registry.set(e, arena::Health{.value = value});
    world.flush();
  }
  CHECK(turns > 2);
  CHECK(copy.last_sequence <= begun);
  CHECK(copy.values.size() == units.size());
  CHECK(std::ranges::all_of(copy.values, [](const auto& each) { return each.second == 1; }));
  // Then what came after it.
  for (int i = 0; i < 100; ++i) {
    world.flush();
    copy.take(HandDesk::heard(*slow), 5);
  }
  CHECK(copy.whole);
  CHECK(std::ranges::all_of(copy.values, [&](const auto& each) { return each.second == value - 1; }));
}

TEST_CASE("what waits for a client that does not read is bounded, however much changes and however long", "[pains]") {
  HandDesk world;
  const std::vector<Entity> units = world.registry.create_many(20'000, arena::Health{});
  const auto deaf = world.join("deaf", session::Role::view), spares = world.join("spares", session::Role::view);
  session::Follow what = values_of_all();
  what.inputs = what.structure = true;
  world.ask(*deaf, 5, what);
  world.ask(*spares, 5, what);
  world.settle();
  spares->outgoing()->credit(spares->outgoing()->taken() + 1000);
  std::size_t most = 0;
  const std::uint64_t taken = spares->outgoing()->taken();
  for (int i = 0; i < 200; ++i) {
    for (const Entity e : units) world.registry.set(e, arena::Health{.value = static_cast<float>(i)});
    world.flush();
    most = std::max({most, deaf->outgoing()->waiting().bytes(), spares->outgoing()->waiting().bytes()});
    // It reads, and says that it has no room.
    HandDesk::heard(*spares);
  }
  const std::size_t bound = OutgoingLimits().data_bytes_max;
  CHECK(most > bound / 2);
  CHECK(most < bound + (192u << 10));
  CHECK_FALSE(deaf->outgoing()->closed());
  CHECK(spares->outgoing()->taken() < taken + 1000 + (80u << 10));
}

TEST_CASE("a value is pushed when it changes, with the sequence and the clock that it is of", "[pains]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{});
  const auto one = world.join("one", session::Role::view);
  world.ask(*one, 5, values_of_all());
  world.settle();
  Copy copy;
  copy.take(HandDesk::heard(*one), 5);
  for (std::uint64_t tick = 1; tick <= 20; ++tick) {
    world.registry.set(unit, arena::Health{.value = static_cast<float>(tick)});
    world.registry.advance(16'666'667);
    world.flush();
    copy.take(HandDesk::heard(*one), 5);
    CHECK(copy.values[unit] == static_cast<float>(tick));
    CHECK(copy.as_of[unit].sequence == world.registry.sequence());
    CHECK(copy.as_of[unit].clock_ns == world.registry.now_ns());
    CHECK(world.registry.now_ns() >= tick * 16'666'667);
  }
}

}  // namespace pains_test
