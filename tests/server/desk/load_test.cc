// What a server says of its own work.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>
#include <unordered_map>
#include <vector>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "server/world/time/work_time.h"
#include "tests/server/live_world.h"

namespace load_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("times are counted in classes that are a 32nd wide, none is lost, and each is shorter than its class's end") {
  TimeCounts counts;
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i + 1 < TimeCounts::classes; ++i) {
    const std::uint64_t end = TimeCounts::end_of(i);
    CHECK(end > before);
    CHECK(TimeCounts::class_of(end - 1) == i);
    CHECK(TimeCounts::class_of(end) == i + 1);
    if (i > 0) CHECK(end - before <= before / 32);
    before = end;
  }
  for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{5'000'000}, ~std::uint64_t{0}}) counts.add(ns);
  CHECK(counts.all() == 3);
  CHECK(counts.longest_ns() == ~std::uint64_t{0});
  CHECK(counts.count(0) == 1);
  CHECK(counts.count(TimeCounts::class_of(5'000'000)) == 1);
  CHECK(counts.count(TimeCounts::classes - 1) == 1);
}

TEST_CASE("a thread's own processor time never goes back, though it goes by the time of day for a while") {
  FrequentProcessorClock clock;
  const ProcessorClock kernel = ProcessorClock::of_this_thread();
  std::uint64_t before = clock.now_ns(), back = 0, ahead = 0;
  // For a thousand spans: each ends with a question to the kernel, which never says just what the day said.
  for (const std::uint64_t until = before + 1000 * FrequentProcessorClock::span_ns; before < until;) {
    const std::uint64_t now = clock.now_ns();
    back += now < before ? 1 : 0;
    before = now;
  }
  CHECK(back == 0);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock.now_ns(), used = kernel.now_ns();
    ahead += now > used + FrequentProcessorClock::span_ns ? 1 : 0;
  }
  CHECK(ahead == 0);
}

TEST_CASE("other threads are told how much a thread has used to within a span, and never less than before") {
  FrequentProcessorClock clock;
  const ProcessorClock kernel = ProcessorClock::of_this_thread();
  std::atomic<std::uint64_t> back = 0, ahead = 0, behind = 0, asked = 0;
  std::atomic<bool> done = false;
  const auto ask = [&] {
    for (std::uint64_t before = 0; !done; ++asked) {
      const std::uint64_t least = kernel.now_ns(), now = clock.now_ns(), most = kernel.now_ns();
      back += now < before ? 1 : 0;
      behind += now + FrequentProcessorClock::span_ns < least ? 1 : 0;
      ahead += now > most + FrequentProcessorClock::span_ns ? 1 : 0;
      before = now;
    }
  };
  std::thread one(ask), two(ask);
  for (int turn = 0; turn < 20; ++turn) {  // it works, and sleeps
    for (const std::uint64_t until = kernel.now_ns() + 1'000'000; kernel.now_ns() < until;) (void)clock.now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  done = true;
  one.join();
  two.join();
  CHECK(asked > 100);
  CHECK(back == 0);
  CHECK(ahead == 0);
  CHECK(behind == 0);
}

TEST_CASE("each edit of a session is counted with what it waited for, in the processor time of the world thread") {
  LiveWorld world;
  Client client = world.client();
  Client other = world.client();
  REQUIRE(client.ask<session::GetLoad>()->edits.empty());
  // The thread is busy with something else when the edit comes.
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e"); });
  const auto edit = [&] {
    BatchBuilder builder;
    builder.append(e, Rename{});
    const auto request = client.post_batch(builder.bytes());
    REQUIRE(request.has_value());
    return *request;
  };
  REQUIRE(client.wait_ack(edit()).has_value());
  const auto once = client.ask<session::GetLoad>();
  REQUIRE(once.has_value());
  std::uint64_t edits = 0;
  for (const session::TimeCount& each : once->edits) edits += each.count;
  CHECK(edits == 1);
  CHECK(once->processor_ns > 0);
  CHECK(once->memory_bytes > 1u << 20);
  CHECK(once->entities == 1);
  CHECK(once->archetypes == world.run([](EntityRegistry& r) { return r.host().storage().archetypes().size(); }));
  CHECK(once->ticks.empty());  // nobody ticks
  CHECK(other.ask<session::GetLoad>()->edits.empty());
  CHECK(once->edit_ns_max <= once->processor_ns);
}

TEST_CASE("edits that handlers take long for count by their time: another session waits for one of them, not for all") {
  std::atomic<std::uint64_t> time_ns = 0;
  LiveWorldOptions options;
  options.processor_ns = [&] { return time_ns.load(); };
  options.on_damage = [&] { time_ns += 5'000'000; };
  LiveWorld world(options);
  Client mean = world.client();
  Client honest = world.client();
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{}); });
  BatchBuilder hit, rename;
  hit.append(e, arena::Damage{});
  rename.append(e, Rename{});
  REQUIRE(honest.push_batch(rename.bytes()).has_value());
  world.hold(true);
  std::vector<std::uint64_t> hits;
  for (int i = 0; i < 100; ++i) hits.push_back(mean.post_batch(hit.bytes()).value());
  const auto edit = honest.post_batch(rename.bytes());
  REQUIRE(edit.has_value());
  // Both have arrived when the owner goes on: what is asked last is answered by the sessions' thread.
  REQUIRE(mean.ask(session::Heartbeat{}).has_value());
  REQUIRE(honest.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  REQUIRE(honest.wait_ack(*edit).has_value());
  for (const std::uint64_t each : hits) REQUIRE(mean.wait_ack(each).has_value());
  CHECK(time_ns == 500'000'000);
  CHECK(honest.ask<session::GetLoad>()->edit_ns_max <= 10'000'000);
  CHECK(mean.ask<session::GetLoad>()->edit_ns_max >= 490'000'000);
}

TEST_CASE("who was idle takes turns with who was busy: nothing is owed for a time in which nothing was sent") {
  LiveWorldOptions options;
  options.processor_ns = [] { return std::uint64_t{0}; };  // edits cost what they are judged to
  LiveWorld world(options);
  Client busy = world.client();
  Client idle = world.client();
  const auto units = world.run([](EntityRegistry& r) { return r.create_many(400, arena::Health{}); });
  BatchBuilder hit;
  hit.append_shared(std::span<const Entity>(units), arena::Damage{.amount = 0});
  for (int i = 0; i < 40; ++i) REQUIRE(busy.push_batch(hit.bytes()).has_value());
  world.hold(true);
  std::vector<std::uint64_t> of_busy, of_idle;
  for (int i = 0; i < 20; ++i) of_idle.push_back(idle.post_batch(hit.bytes()).value());
  for (int i = 0; i < 20; ++i) of_busy.push_back(busy.post_batch(hit.bytes()).value());
  REQUIRE(idle.ask(session::Heartbeat{}).has_value());
  REQUIRE(busy.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  const auto first_of_busy = busy.wait_ack(of_busy.front());
  const auto last_of_idle = idle.wait_ack(of_idle.back());
  REQUIRE(first_of_busy.has_value());
  REQUIRE(last_of_idle.has_value());
  CHECK(first_of_busy->sequence < last_of_idle->sequence);
}

TEST_CASE("messages whose handlers take long are dear from then on: many at once are refused, one never is") {
  std::atomic<std::uint64_t> time_ns = 0, each_ns = 5'000'000;
  LiveWorldOptions options;
  options.processor_ns = [&] { return time_ns.load(); };
  options.on_damage = [&] { time_ns += each_ns; };
  LiveWorld world(options);
  Client client = world.client();
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{}); });
  const auto hit = [&](int times) {
    BatchBuilder builder;
    for (int i = 0; i < times; ++i) builder.append(e, arena::Damage{.amount = 0});
    return client.push_batch(builder.bytes());
  };
  // 5 ms each are 50,000 steps: the first one tells.
  REQUIRE(hit(1).has_value());
  const auto many = hit(150);
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().fault.reason == "edit_steps_max");
  CHECK(many.error().fault.refused == 150);
  CHECK(time_ns == 5'000'000);
  for (int i = 0; i < 5; ++i) CHECK(hit(1).has_value());
  // Now they are quick, and become cheap again.
  each_ns = 100;
  for (int i = 0; i < 60; ++i) REQUIRE(hit(1).has_value());
  CHECK(hit(150).has_value());
}

TEST_CASE("an edit that is too dear for the rest of a turn lets those first who send little, and is taken then") {
  LiveWorldOptions options;
  options.limits.intake_steps = 1000;
  options.processor_ns = [] { return std::uint64_t{0}; };  // edits count as they are costed
  LiveWorld world(options);
  Client greedy = world.client(), honest = world.client();
  const auto many = world.run([](EntityRegistry& r) { return r.create_many(5000, arena::Health{.value = 1000}); });
  BatchBuilder dear(1u << 20), rename;
  dear.append_shared(many, arena::Damage{.amount = 0});
  rename.append(many[0], Rename{});
  world.hold(true);
  std::vector<std::uint64_t> sent;
  sent.push_back(greedy.post_batch(rename.bytes()).value());
  for (int i = 0; i < 10; ++i) sent.push_back(greedy.post_batch(dear.bytes()).value());
  REQUIRE(greedy.ask(session::Heartbeat{}).has_value());
  std::vector<std::uint64_t> little;
  for (int i = 0; i < 100; ++i) little.push_back(honest.post_batch(rename.bytes()).value());
  REQUIRE(honest.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  std::uint64_t first_dear = 0, last_little = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto ack = greedy.wait_ack(sent[i]);
    REQUIRE(ack.has_value());
    if (i == 1) first_dear = ack->sequence;
  }
  for (const std::uint64_t each : little) {
    const auto ack = honest.wait_ack(each);
    REQUIRE(ack.has_value());
    last_little = ack->sequence;
  }
  CHECK(last_little < first_dear);
}

TEST_CASE("who sends little comes before one dear edit of each of many who were there before") {
  LiveWorldOptions options;
  options.limits.intake_steps = 1000;
  options.processor_ns = [] { return std::uint64_t{0}; };  // edits count as they are costed
  LiveWorld world(options);
  std::vector<Client> greedy;
  for (int i = 0; i < 10; ++i) greedy.push_back(world.client());
  Client honest = world.client();
  const auto many = world.run([](EntityRegistry& r) { return r.create_many(5000, arena::Health{.value = 1000}); });
  BatchBuilder dear(1u << 20), rename;
  dear.append_shared(many, arena::Damage{.amount = 0});
  rename.append(many[0], Rename{});
  world.hold(true);
  std::vector<std::uint64_t> sent;
  for (Client& client : greedy) {
    sent.push_back(client.post_batch(dear.bytes()).value());
    REQUIRE(client.ask(session::Heartbeat{}).has_value());
  }
  const std::uint64_t little = honest.post_batch(rename.bytes()).value();
  REQUIRE(honest.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  const auto first = honest.wait_ack(little);
  REQUIRE(first.has_value());
  for (std::size_t i = 0; i < greedy.size(); ++i) {
    const auto ack = greedy[i].wait_ack(sent[i]);
    REQUIRE(ack.has_value());
    CHECK(ack->sequence > first->sequence);
  }
}

TEST_CASE("whose edit was put off takes turns like everybody when it was done") {
  LiveWorldOptions options;
  options.processor_ns = [] { return std::uint64_t{0}; };  // edits cost what they are judged to
  LiveWorld world(options);
  Client greedy = world.client();
  Client other = world.client();
  const auto units = world.run([](EntityRegistry& r) { return r.create_many(40'000, arena::Health{}); });
  BatchBuilder large(1u << 20), small;
  large.append_shared(std::span<const Entity>(units), arena::Damage{.amount = 0});
  small.append_shared(std::span<const Entity>(units).first(400), arena::Damage{.amount = 0});
  world.hold(true);
  std::vector<std::uint64_t> of_greedy, of_other;
  for (int i = 0; i < 2; ++i) of_greedy.push_back(greedy.post_batch(large.bytes()).value());  // too much for one turn
  REQUIRE(greedy.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  for (const std::uint64_t each : of_greedy) REQUIRE(greedy.wait_ack(each).has_value());
  world.hold(true);
  for (int i = 0; i < 20; ++i) of_greedy.push_back(greedy.post_batch(small.bytes()).value());
  for (int i = 0; i < 20; ++i) of_other.push_back(other.post_batch(small.bytes()).value());
  REQUIRE(greedy.ask(session::Heartbeat{}).has_value());
  REQUIRE(other.ask(session::Heartbeat{}).has_value());
  world.hold(false);
  const auto first_of_other = other.wait_ack(of_other.front());
  const auto last_of_greedy = greedy.wait_ack(of_greedy.back());
  REQUIRE(first_of_other.has_value());
  REQUIRE(last_of_greedy.has_value());
  CHECK(first_of_other->sequence < last_of_greedy->sequence);
}

TEST_CASE("watches that there is no time for have their turns after later flushes, and are told all the same") {
  LiveWorldOptions options;
  options.limits.watch_ns = 0;
  LiveWorld world(options);
  std::vector<Entity> entities;
  for (int i = 0; i < 300; ++i)
    entities.push_back(world.run([](EntityRegistry& r) { return r.create({}, arena::Health{.value = 100}); }));
  std::vector<Client> clients;
  std::vector<std::uint64_t> watches;
  for (std::size_t i = 0; i < 8; ++i) {
    clients.push_back(world.client());
    session::Follow what;
    what.values = what.structure = true;
    what.world = i % 2 == 0;
    if (!what.world) what.entities = entities;
    const auto watch = clients.back().follow(what);
    REQUIRE(watch.has_value());
    watches.push_back(*watch);
  }
  std::vector<std::unordered_map<Entity, float>> told(clients.size());
  const auto hear = [&](std::size_t i, auto&& done) {
    while (!done(told[i])) {
      const auto frame = clients[i].next(watches[i], std::chrono::seconds(10));
      REQUIRE(frame.has_value());
      REQUIRE(frame->has_value());
      const BatchView batch = (*frame)->batch();
      if (batch.type() == TypeTraits<Destroy>::id)
        for (std::uint32_t n = 0; n < batch.count(); ++n) told[i].erase(batch.target(n));
      if (batch.type() != TypeTraits<session::Values>::id) continue;
      const auto rows = session::read<session::Values>(batch);
      if (rows.component != TypeTraits<arena::Health>::id) continue;
      for (std::size_t n = 0; n < rows.entities.size(); ++n) {
        arena::Health health;
        std::memcpy(&health, rows.values.data() + n * rows.value_bytes, sizeof health);
        told[i][rows.entities[n]] = health.value;
      }
    }
  };
  for (std::size_t i = 0; i < clients.size(); ++i)
    hear(i, [&](const auto& values) { return values.size() == entities.size(); });
  // Some die, the last ones change again and again while others are told.
  Client editor = world.client();
  for (std::size_t i = 0; i < 20; ++i) REQUIRE(editor.destroy(entities[i]).has_value());
  for (int round = 1; round <= 5; ++round)
    for (std::size_t i = 290; i < entities.size(); ++i)
      REQUIRE(editor.set(entities[i], arena::Health{.value = static_cast<float>(round)}).has_value());
  for (std::size_t i = 0; i < clients.size(); ++i)
    hear(i, [&](const auto& values) {
      if (values.size() != entities.size() - 20) return false;
      for (std::size_t n = 290; n < entities.size(); ++n)
        if (values.at(entities[n]) != 5) return false;
      return true;
    });
}

namespace {

std::vector<std::byte> timed(Entity e, std::uint64_t due_ns, std::size_t targets) {
  BatchBuilder inner, outer;
  inner.append_shared(std::vector<Entity>(targets, e), arena::Damage{});
  outer.append_timed(due_ns, 0, inner.front());
  return {outer.bytes().begin(), outer.bytes().end()};
}
std::string reason(const Result<session::Ack>& ack) { return ack ? "" : ack.error().fault.reason; }

}  // namespace

TEST_CASE(
    "what sessions leave for one moment costs no more than a tick bears, and what waits holds no more than is stated") {
  LiveWorldOptions options;
  options.limits.timer_steps_max = 1000;
  options.limits.timer_bytes_max = 8192;
  options.limits.world_timers_bytes_max = 20'000;
  LiveWorld world(options);
  Client one = world.client();
  Client other = world.client();
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{}); });
  constexpr std::uint64_t second = 1'000'000'000;
  REQUIRE(one.push_batch(timed(e, second, 600)).has_value());
  CHECK(reason(other.push_batch(timed(e, second + 1000, 600))) == "timer_steps_max");  // whoever it is
  CHECK(other.push_batch(timed(e, second, 100)).has_value());                          // it has room for some
  CHECK(other.push_batch(timed(e, 2 * second, 600)).has_value());                      // another moment
  CHECK(reason(one.push_batch(timed(e, 3 * second, 1100))) == "timer_bytes_max");
  CHECK(one.push_batch(timed(e, 4 * second, 800)).has_value());
  CHECK(reason(one.push_batch(timed(e, 5 * second, 800))) == "world_timers_bytes_max");
  // When they are over there is room again.
  world.run([](EntityRegistry& r) {
    r.advance(3 * second);
    return 0;
  });
  CHECK(one.push_batch(timed(e, 5 * second, 800)).has_value());
  CHECK(reason(one.push_batch(timed(e, 0, 800))) == "");  // due already: now
}

TEST_CASE("sessions make no more entities where the world has as many as they may make, handlers and hosts do") {
  LiveWorldOptions options;
  options.limits.world_entities_max = 10;
  LiveWorld world(options);
  Client client = world.client();
  for (int i = 0; i < 10; ++i) REQUIRE(client.create({}, "").has_value());
  const auto eleventh = client.create({}, "");
  REQUIRE_FALSE(eleventh.has_value());
  CHECK(eleventh.error().fault.reason == "world_entities_max");
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e"); });
  REQUIRE(client.destroy(e).has_value());
  CHECK_FALSE(client.create({}, "").has_value());
  // Trees count by their nodes.
  world.run([](EntityRegistry& r) {
    TemplateTree pair("pair");
    pair.set("below", arena::Health{});
    r.define_template(pair);
    return 0;
  });
  const auto spawn = [&] {
    const auto answer = client.ask(session::RequestGrant{.count = 2});
    REQUIRE(answer.has_value());
    const session::Granted grant = *answer;
    REQUIRE(grant.count == 2);
    const Entity ids[] = {{grant.first, 1}, {grant.first + 1, 1}};
    BatchBuilder builder;
    builder.append_shared(ids, Spawn{.what = text_of("pair")});
    return reason(client.push_batch(builder.bytes()));
  };
  const auto all = world.run([](EntityRegistry& r) {
    std::vector<Entity> there;
    r.each<>([&](Entity each) { there.push_back(each); });
    return there;
  });
  REQUIRE(client.destroy(all[0]).has_value());
  CHECK(spawn() == "world_entities_max");  // 11
  REQUIRE(client.destroy(all[1]).has_value());
  CHECK(spawn() == "");  // 10
}

TEST_CASE("an edit that had no room in its session's queue waited from when it came, not from when it had room") {
  std::atomic<std::uint64_t> time_ns = 1'000'000'000;
  LiveWorldOptions options;
  options.limits.request_bytes_max = 1024;
  options.processor_ns = [&] { return time_ns.load(); };
  LiveWorld world(options);
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{.value = 1000}); });
  RawClient client(world.address());
  client.hello();
  world.hold(true);
  // All come in one read, which takes 4 KiB at first; a few of them fill the queue.
  BatchBuilder builder;
  for (int i = 0; i < 4; ++i) builder.append(e, arena::Damage{.amount = 1});
  std::vector<std::byte> frames;
  for (int i = 0; i < 20; ++i) append_frame(frames, builder.bytes(), 0);
  client.send(frames);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  time_ns = 5'000'000'000;
  world.hold(false);
  client.send_message(session::GetLoad{}, 9);
  const auto answer = client.receive();
  REQUIRE(answer.has_value());
  REQUIRE(answer->is<session::Load>());
  std::uint64_t edits = 0, short_waits = 0;
  for (const session::TimeCount& each : session::read<session::Load>(answer->batch()).edits) {
    edits += each.count;
    if (each.below_ns < 3'500'000'000) short_waits += each.count;
  }
  CHECK(edits == 20);
  CHECK(short_waits == 0);
}

}  // namespace load_test
