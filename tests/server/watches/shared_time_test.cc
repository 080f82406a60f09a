// Who asks for much, reads slowly or gives no credit keeps nobody else waiting, and is not ended for what the world is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "tests/server/desk/hand_desk.h"
#include "tests/server/made_session.h"

namespace shared_time_test {

using namespace muster;
using muster::testing::HandDesk;

namespace {

session::Follow values_of_all(std::vector<TypeId> components = {TypeTraits<arena::Health>::id}) {
  session::Follow what;
  what.world = what.values = true;
  what.components = std::move(components);
  return what;
}

}  // namespace

TEST_CASE("a session with many watches, of whatever priority, holds up no other's by more than one turn", "[watch]") {
  EntityRegistry registry;
  registry.add_type<Set>();
  const std::vector<Entity> entities = registry.create_many(100, arena::Health{});
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 1'000'000; });  // each look at it takes as long as a turn may
  struct Viewer {
    std::shared_ptr<Session> session = testing::made_session({.data_bytes_max = 64u << 20});
    FrameDecoder decoder{256u << 20, true};
    std::size_t rows() {
      std::size_t count = 0;
      while (testing::take_frames(*session->outgoing(), decoder,
                                  [&](const WireFrame& frame) { count += frame.envelope.sequence > 0 ? 1 : 0; })) {
      }
      return count;
    }
  };
  Viewer many, one;
  const auto follow = [&](Viewer& by, std::uint64_t request, std::uint8_t priority) {
    session::Follow what = values_of_all();
    what.priority = priority;
    if (const auto fault = watches.follow(by.session, request, what, 64)) FAIL(fault->text);
  };
  // Some before the other's and some after it, and those after it first.
  for (std::uint64_t i = 0; i < 12; ++i) follow(many, 10 + i, 0);
  follow(one, 5, 0);
  for (std::uint64_t i = 0; i < 12; ++i) follow(many, 30 + i, 255);
  std::uint64_t now_ns = 1;
  for (int i = 0; i < 200; ++i) watches.after_flush(++now_ns, 1);
  many.rows(), one.rows();
  int waited = 0, longest = 0, told = 0;
  for (int i = 0; i < 400; ++i) {
    for (const Entity e : entities) registry.set(e, arena::Health{.value = static_cast<float>(i)});
    watches.after_flush(++now_ns, 1);
    many.rows();
    waited = one.rows() > 0 ? 0 : waited + 1;
    told += waited == 0 ? 1 : 0;
    longest = std::max(longest, waited);
  }
  CHECK(watches.turns_max() < 4);
  CHECK(longest <= 3);
  CHECK(told >= 100);
}

TEST_CASE("a world of long texts is told to who reads it, however many there are", "[watch]") {
  HandDesk world;
  world.registry.add_type<arena::Label>();
  std::set<std::uint64_t> titles;
  constexpr int count = 200;
  for (int i = 0; i < count; ++i) {
    const Text title = world.registry.intern(std::to_string(i) + std::string(60'000, 'x'));
    titles.insert(title.hash);
    world.registry.create("sign " + std::to_string(i), arena::Label{.title = title}).or_stop();
  }
  const auto reads = world.join("reads", session::Role::view);
  session::Follow what = values_of_all({TypeTraits<arena::Label>::id});
  what.structure = true;
  what.inputs = true;
  world.ask(*reads, 5, what);
  std::size_t rows = 0, texts = 0, most = 0;
  bool whole = false;
  for (int turn = 0; turn < 2000 && !whole; ++turn) {
    world.flush();
    most = std::max(most, reads->outgoing()->waiting().control);
    for (const Received& frame : HandDesk::heard(*reads)) {
      if (frame.is<InternText>()) ++texts;
      if (!frame.is<session::Values>()) continue;
      rows += session::read<session::Values>(frame.batch()).entities.size();
      whole = frame.is_last();
    }
  }
  CHECK(whole);
  CHECK_FALSE(reads->outgoing()->closed());
  CHECK(rows == count);
  CHECK(texts >= count);
  CHECK(most < 5u << 20);  // half of what may wait, and a slice
}

TEST_CASE("who gives no credit is told so when it opens watch after watch, and goes on when it gives some", "[watch]") {
  HandDesk world;
  world.registry.create_many(5000, arena::Health{});
  const auto mean = world.join("mean", session::Role::view);
  world.ask(*mean, 5, values_of_all());
  world.settle();
  // It took nothing of that: what is said of watches comes behind it.
  mean->outgoing()->credit(0);
  REQUIRE(mean->outgoing()->waiting().data > 0);
  std::size_t busy = 0, most = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    world.ask(*mean, 100 + i, values_of_all());
    world.ask(*mean, 100'000 + i, session::Unwatch{.watch = 100 + i});
    world.settle();
    most = std::max(most, mean->outgoing()->waiting().control);
    for (const Received& frame : HandDesk::heard(*mean))
      if (frame.is<session::Fault>() && session::read<session::Fault>(frame.batch()).code == session::FaultCode::busy)
        ++busy;
  }
  CHECK(busy > 0);
  CHECK(most < 256u << 10);
  CHECK(mean->outgoing()->answers_waiting() == 0);
  CHECK_FALSE(mean->outgoing()->closed());
  mean->outgoing()->credit(~std::uint64_t{0});
  world.settle();
  CHECK_FALSE(HandDesk::heard(*mean).empty());
  world.ask(*mean, 99, values_of_all());
  world.settle();
  std::size_t rows = 0;
  for (int i = 0; i < 20; ++i) {
    for (const Received& frame : HandDesk::heard(*mean))
      if (frame.header.request == 99 && frame.is<session::Values>())
        rows += session::read<session::Values>(frame.batch()).entities.size();
    world.flush();
  }
  CHECK(rows == 5000);
}

TEST_CASE("without credit nothing is queued that would be old when there is some", "[watch]") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{});
  const auto slow = world.join("slow", session::Role::view);
  session::Follow what = values_of_all();
  what.structure = true;
  world.ask(*slow, 5, what);
  world.settle();
  HandDesk::heard(*slow);
  slow->outgoing()->credit(0);
  for (int i = 1; i <= 500; ++i) {
    world.registry.set(unit, arena::Health{.value = static_cast<float>(i)});
    world.registry.push(unit, Rename{.name = world.registry.intern("name " + std::to_string(i))});
    world.flush();
  }
  CHECK(slow->outgoing()->waiting().data == 0);
  slow->outgoing()->credit(1u << 30);
  std::vector<float> values;
  std::size_t renames = 0;
  for (int i = 0; i < 5; ++i) {
    world.flush();
    for (const Received& frame : HandDesk::heard(*slow)) {
      renames += frame.is<Rename>() ? 1 : 0;
      if (!frame.is<session::Values>()) continue;
      const auto rows = session::read<session::Values>(frame.batch());
      std::memcpy(&values.emplace_back(), rows.values.data(), sizeof(float));
    }
  }
  CHECK(values == std::vector<float>{500});
  CHECK(renames == 1);
}

TEST_CASE("a watch that tells structure says of nobody that it is gone who it never said is there", "[watch]") {
  HandDesk world;
  const auto looks = world.join("looks", session::Role::view);
  OutgoingLimits small;
  small.data_bytes_max = 1;
  const auto slow = world.join("slow", session::Role::view, small);
  session::Follow what = values_of_all();
  what.structure = true;
  for (const auto& each : {looks, slow}) world.ask(*each, 5, what);
  world.settle();
  std::map<const Session*, std::set<Entity>> there;
  std::vector<Entity> living;
  std::size_t gone = 0;
  const auto read = [&] {
    for (const auto& each : {looks, slow})
      for (const Received& frame : HandDesk::heard(*each)) {
        const BatchView batch = frame.batch();
        for (std::uint32_t i = 0; i < batch.count(); ++i) {
          if (frame.is<Create>()) CHECK(there[each.get()].insert(batch.target(i)).second);
          if (frame.is<Destroy>()) {
            ++gone;
            CHECK(there[each.get()].erase(batch.target(i)) == 1);
          }
        }
      }
  };
  std::uint64_t random = 7;
  for (int i = 0; i < 400; ++i) {
    for (int k = 0; k < 40; ++k) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      if (living.size() < 100 || (random >> 40) % 2 == 0) {
        living.push_back(world.registry.create("born " + std::to_string(random), arena::Health{}));
      } else {
        const std::size_t who = (random >> 33) % living.size();
        world.registry.destroy(living[who]);
        living[who] = living.back();
        living.pop_back();
      }
      if (k % 10 == 0) world.flush();
    }
    read();
  }
  for (int i = 0; i < 2000; ++i) {
    world.flush();
    read();
  }
  CHECK(gone > 1000);
  CHECK(there[looks.get()] == std::set<Entity>(living.begin(), living.end()));
  CHECK(there[slow.get()] == std::set<Entity>(living.begin(), living.end()));
}

TEST_CASE("a watch whose budget is raised goes on at the new rate, whatever it had spent", "[watch]") {
  ByteBudget budget;
  std::uint64_t now_ns = 1'000'000'000;
  budget.set(1, now_ns);
  budget.spend(30'000, now_ns);
  CHECK_FALSE(budget.is_free(now_ns + 1'000'000'000));
  budget.set(30'000, now_ns);
  CHECK(budget.free_ns() == now_ns + 1'000'000'000);
  CHECK(budget.is_free(now_ns + 1'000'000'000));
  budget.set(15'000, now_ns + 500'000'000);
  CHECK(budget.free_ns() == now_ns + 1'500'000'000);
  budget.set(0, now_ns);
  CHECK(budget.is_free(now_ns));
  budget.set(10, now_ns);
  CHECK(budget.is_free(now_ns));
}

TEST_CASE("who has not read many answers opens a watch all the same, once there is room for its answer", "[watch]") {
  HandDesk world;
  world.registry.create_many(10, arena::Health{});
  const auto slow = world.join("slow", session::Role::view);
  slow->outgoing()->credit(1u << 30);
  BatchBuilder beat;
  session::append(beat, session::Heartbeat{.number = 1, .answer = 1});
  while (slow->outgoing()->waiting().control < 300u << 10) slow->outgoing()->control(beat.bytes(), 1000);
  world.ask(*slow, 5, values_of_all());
  world.settle();
  std::size_t rows = 0;
  for (const Received& frame : HandDesk::heard(*slow)) {
    REQUIRE_FALSE(frame.is<session::Fault>());
    if (frame.header.request == 5 && frame.is<session::Values>())
      rows += session::read<session::Values>(frame.batch()).entities.size();
  }
  CHECK(rows == 10);
}

TEST_CASE("who comes later is owed nothing for the time before: it takes turns with who was told all along",
          "[watch]") {
  EntityRegistry registry;
  registry.add_type<Set>();
  const std::vector<Entity> busy_ones = registry.create_many(50, arena::Health{}),
                            late_ones = registry.create_many(50, arena::Health{});
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 1'000'000; });
  struct Viewer {
    std::shared_ptr<Session> session = testing::made_session();
    std::size_t frames() {
      std::size_t count = 0;
      testing::take_all_frames(*session->outgoing(), [&](const WireFrame&) { ++count; });
      return count;
    }
  };
  Viewer busy, late;
  const auto follow = [&](Viewer& by, const std::vector<Entity>& of) {
    session::Follow what = values_of_all();
    what.world = false;
    what.entities = of;
    if (const auto fault = watches.follow(by.session, 1, what, 64)) FAIL(fault->text);
  };
  follow(busy, busy_ones);
  std::uint64_t now_ns = 1;
  float value = 0;
  const auto turn = [&](bool both) {
    ++value;
    for (const Entity e : busy_ones) registry.set(e, arena::Health{.value = value});
    for (const Entity e : late_ones)
      if (both) registry.set(e, arena::Health{.value = value});
    watches.after_flush(++now_ns, 1);
  };
  for (int i = 0; i < 300; ++i) {
    turn(false);
    busy.frames();
  }
  follow(late, late_ones);
  late.frames();
  int told = 0, waited = 0, longest = 0;
  for (int i = 0; i < 60; ++i) {
    turn(true);
    late.frames();
    waited = busy.frames() > 0 ? 0 : waited + 1;
    told += waited == 0 ? 1 : 0;
    longest = std::max(longest, waited);
  }
  CHECK(longest <= 3);
  CHECK(told >= 15);
}

TEST_CASE("who took little while there was time for all is told first once there is not", "[watch]") {
  EntityRegistry registry;
  registry.add_type<Set>();
  const std::vector<Entity> many = registry.create_many(20'000, arena::Health{}),
                            few = registry.create_many(10, arena::Health{});
  std::uint64_t time_ns = 0;
  Watches watches(registry, [&] { return time_ns += 1'000'000; });  // whoever tells much looks at it often
  const auto join = [&](const std::vector<Entity>& of) {
    auto session = testing::made_session({.data_bytes_max = 64u << 20});
    session::Follow what = values_of_all();
    what.world = false;
    what.entities = of;
    if (const auto fault = watches.follow(session, 1, what, 64)) FAIL(fault->text);
    return session;
  };
  const auto much = join(many), little = join(few);
  std::uint64_t now_ns = 1;
  float value = 0;
  /// True: `little` was told something.
  const auto turn = [&](std::uint64_t ns_max) {
    ++value;
    for (const Entity e : many) registry.set(e, arena::Health{.value = value});
    for (const Entity e : few) registry.set(e, arena::Health{.value = value});
    watches.after_flush(++now_ns, ns_max);
    testing::take_all_frames(*much->outgoing(), [](const WireFrame&) {});
    bool is_told = false;
    testing::take_all_frames(*little->outgoing(), [&](const WireFrame&) { is_told = true; });
    return is_told;
  };
  for (int i = 0; i < 60; ++i) turn(1'000'000'000);
  int told = 0;
  for (int i = 0; i < 30; ++i) told += turn(1) ? 1 : 0;
  CHECK(told >= 28);
}

TEST_CASE("what the thread took to open and change watches is told once", "[watch]") {
  EntityRegistry registry;
  registry.create_many(1000, arena::Health{});
  Watches watches(registry, Watches::Threaded{.wake = [] {}});
  const auto session = testing::made_session();
  if (const auto fault = watches.follow(session, 1, values_of_all(), 64)) FAIL(fault->text);
  while (!watches.orders_done()) std::this_thread::yield();
  CHECK(watches.take_orders_ns() > 0);
  CHECK(watches.take_orders_ns() == 0);
}

}  // namespace shared_time_test
