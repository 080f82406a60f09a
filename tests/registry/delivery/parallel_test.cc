#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <thread>

#include "registry/explain.h"
#include "registry/host.h"
#include "registry/profile.h"
#include "tests/registry/delivery/busy_world.h"

namespace parallel_test {

using namespace muster;
using namespace busy;

namespace {

const RegistryOptions always{.pass_serial_below_ns = 0};

/// Waits until `count` threads have come here: true; false where that takes too long.
struct Rendezvous {
  std::atomic<int> here{0};
  bool meet(int count) {
    ++here;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (here.load() < count) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

/// Calls its jobs on the caller's thread, the last one first: who needs two at the same time never ends.
struct OneByOne final : Executor {
  std::uint32_t runs = 0;
  std::uint32_t workers() const noexcept override { return 3; }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    ++runs;
    for (std::uint32_t i = count; i-- > 0;) job(context, i);
  }
};

}  // namespace

TEST_CASE("a busy world has the same hashes, receipts and counters with 1, 2, 3 and 4 workers") {
  World one(1, always), two(2, always), three(3, always), four(4, always);
  World judged(4, {.pass_serial_below_ns = 1});  // spread or not by what rows took, which is never the same
  World* others[] = {&two, &three, &four, &judged};
  for (int i = 0; i < 25; ++i) {
    const Receipt receipt = one.tick(i);
    const std::uint64_t hash = one.registry.hash();
    for (World* world : others) {
      const Receipt its = world->tick(i);
      INFO("tick " << i << ", " << world->pool->workers() << " workers");
      REQUIRE(world->registry.hash() == hash);
      CHECK(its.sequence == receipt.sequence);
      CHECK(its.handled == receipt.handled);
      CHECK(world->seen == one.seen);
      CHECK(world->registry.host().counters().messages == one.registry.host().counters().messages);
      CHECK(world->registry.host().counters().dead == one.registry.host().counters().dead);
      CHECK(world->registry.host().counters().refused == one.registry.host().counters().refused);
    }
  }
  CHECK(one.registry.profile().pass_counters().spread == 0);
  CHECK(two.registry.profile().pass_counters().spread > 25);
  CHECK(two.registry.profile().pass_counters().turns > 25);
  CHECK(two.registry.profile().pass_counters().barriers > 20);
  CHECK(one.registry.host().counters().messages > 10'000);
}

TEST_CASE("bubel 12: a host's own executor gives the same result as none, even if it has one thread") {
  World alone(1);
  OneByOne executor;
  World hosted(1, always);
  hosted.registry.host().set_executor(&executor);
  for (int i = 0; i < 10; ++i) {
    alone.tick(i);
    hosted.tick(i);
    REQUIRE(hosted.registry.hash() == alone.registry.hash());
  }
  CHECK(executor.runs >= 10);
  hosted.registry.host().set_executor(nullptr);
  const std::uint32_t runs = executor.runs;
  alone.tick(10);
  hosted.tick(10);
  CHECK(hosted.registry.hash() == alone.registry.hash());
  CHECK(executor.runs == runs);
}

TEST_CASE("a pass on several workers goes no deeper than somebody is, where a deep tree was and went") {
  ThreadPool pool(3);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  const Entity stays = registry.create(Health{}, Armor{});
  std::vector<Entity> line;
  for (int i = 0; i < 3000; ++i)
    line.push_back(registry.create_under(line.empty() ? Entity{} : line.back(), "", Health{}, Armor{}));
  registry.destroy(line.front());
  std::atomic<int> rows{0};
  const auto a = registry.subscribe("a", [&](const Update&, Health&) { ++rows; }, {.external_writes = {"a"}});
  const auto b = registry.subscribe("b", [&](const Update&, Armor&) { ++rows; }, {.external_writes = {"b"}});
  registry.push(Update{});
  CHECK(rows == 2);
  CHECK(registry.alive(stays));
}

TEST_CASE("what is carried over to the next input is the same, batch by batch") {
  RegistryOptions few{.cascade_messages_max = 50, .pass_serial_below_ns = 0};
  World one(1, few), four(4, few);
  for (int i = 0; i < 8; ++i) {
    const Receipt a = one.tick(i), b = four.tick(i);
    CHECK(a.cut_short == b.cut_short);
    REQUIRE(one.registry.hash() == four.registry.hash());
  }
  CHECK(one.registry.host().counters().carried > 0);
}

TEST_CASE("bubel 11: handlers that do not conflict run at the same time") {
  ThreadPool pool(2);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create(Health{}, Armor{});
  Rendezvous rendezvous;
  bool met_a = false, met_b = false;
  const auto a =
      registry.subscribe("a", [&](const Update&, Health&) { met_a = rendezvous.meet(2); }, {.external_writes = {"a"}});
  const auto b =
      registry.subscribe("b", [&](const Update&, Armor&) { met_b = rendezvous.meet(2); }, {.external_writes = {"b"}});
  registry.push(Update{});
  CHECK(met_a);
  CHECK(met_b);
}

TEST_CASE("rows of one handler are shared out among workers") {
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create_many(4, Health{});
  static Rendezvous rendezvous;
  static std::atomic<int> met{0};
  const auto s = registry.subscribe("s", [](const Update&, Health&) { met += rendezvous.meet(4) ? 1 : 0; });
  registry.push(Update{});
  CHECK(met == 4);
}

TEST_CASE("workers that sleep until a handler is done are all woken for the one that waited for it") {
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  const std::vector<Entity> all = registry.create_many(4, Health{});
  static Entity slow;
  slow = all[1];
  static Rendezvous rendezvous;
  static std::atomic<int> met{0};
  Handlers handlers;
  handlers.add(registry.subscribe("first", [](const Update&, Entity e, Health&) {
    if (e == slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the others look, and then sleep
  }));
  handlers.add(registry.subscribe("then", [](const Update&, Health&) { met += rendezvous.meet(4) ? 1 : 0; }));
  registry.push(Update{});
  CHECK(met == 4);
}

TEST_CASE("bubel 11: no writer overlaps a reader or a writer of the same component or resource") {
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create_many(3000, Health{}, Armor{}, Position{});
  // Per thing: readers, or 1000 for a writer. Handlers of one thing are at it all the time.
  static std::atomic<int> health{0}, octree{0};
  static std::atomic<bool> clash{false};
  struct Inside {
    std::atomic<int>& thing;
    int mine;
    Inside(std::atomic<int>& t, int m) : thing(t), mine(m) {
      if (const int before = thing.fetch_add(mine); mine >= 1000 ? before % 1000 != 0 : before >= 1000) clash = true;
    }
    ~Inside() { thing -= mine; }
  };
  Handlers handlers;
  // Workers share the rows of a writer: so of Health only other handlers matter, readers against writers.
  handlers.add(registry.subscribe("1 write", [](const Update&, Health& h) {
    const Inside i(health, 1000);
    h.value += 1;
  }));
  handlers.add(
      registry.subscribe("2 read", [](const Update&, const Health&, Position&) { const Inside i(health, 1); }));
  handlers.add(registry.subscribe("3 read", [](const Update&, const Health&, Armor&) { const Inside i(health, 1); }));
  handlers.add(registry.subscribe("4 write", [](const Update&, Health& h) {
    const Inside i(health, 1000);
    h.value *= 2;
  }));
  handlers.add(registry.subscribe("5 read", [](const Update&, const Health&) { const Inside i(octree, 1); },
                                  {.external_reads = {"octree"}}));
  handlers.add(registry.subscribe("6 write", [](const Update&, const Armor&) { const Inside i(octree, 1000); },
                                  {.external_writes = {"octree"}}));
  for (int i = 0; i < 20; ++i) registry.push(Update{});
  CHECK_FALSE(clash);
  registry.each<Health>([](const Health& h) { CHECK(h.value > 1e8f); });
}

TEST_CASE("usagi 10: a parent has finished before its child starts, wide trees and narrow ones") {
  for (const bool narrow : {false, true}) {
    ThreadPool pool(4);
    EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
    // Narrow: chains of 20 bones. Wide: 3 levels, thousands of rows each.
    for (int i = 0; i < 60; ++i) {
      Entity up = registry.create(Count{});
      if (narrow) {
        for (int k = 0; k < 20; ++k) up = registry.create_under(up, {}, Count{});
      } else {
        for (int j = 0; j < 10; ++j) {
          const Entity middle = registry.create_under(up, {}, Count{});
          for (int k = 0; k < 10; ++k) registry.create_under(middle, {}, Count{}).or_stop();
        }
      }
    }
    static std::atomic<int> wrong{0};
    const auto s = registry.subscribe("s", [](const Update&, Count& count, Parent<const Count*> up) {
      if (up && up->hits != count.hits + 1) ++wrong;
      ++count.hits;
    });
    for (int i = 0; i < 30; ++i) registry.push(Update{});
    CHECK(wrong == 0);
    const PassCounters& counters = registry.profile().pass_counters();
    CHECK(counters.spread == 30);
    if (narrow) {
      CHECK(counters.branches == 30 * 16);  // whole chains, no barrier
      CHECK(counters.barriers == 0);
    } else {
      CHECK(counters.branches == 0);
      CHECK(counters.barriers == 30 * 2);  // one per depth but the first
    }
  }
}

TEST_CASE("usagi 30: children of one parent are split, and come to the same as one after another") {
  // One root, its children, chains below them: the cut is below the root.
  const auto build = [](EntityRegistry& registry) {
    const Entity root = registry.create(Position{.at = {.x = 1, .y = 1, .z = 1}});
    for (int i = 0; i < 100; ++i) {
      Entity up = registry.create_under(root, {}, Position{.at = {.x = static_cast<float>(i), .y = 0, .z = 0}});
      for (int k = 0; k < 12; ++k)
        up = k % 3 ? registry.create_under(up, {}, Position{}) : registry.create_under(up, {}, Count{});
    }
    std::vector<Entity> some;
    registry.each<Count>([&](Entity e, const Count&) {
      if (e.index % 5 == 0) some.push_back(e);
    });
    for (const Entity e : some) registry.destroy(e);
  };
  ThreadPool pool(4);
  EntityRegistry one, four({.executor = &pool, .pass_serial_below_ns = 0});
  build(one);
  build(four);
  const auto s1 = one.subscribe<follow>("follow");
  const auto s4 = four.subscribe<follow>("follow");
  CHECK(muster::pass_groups(four, TypeTraits<Update>::id).find("split over branches") != std::string::npos);
  for (int i = 0; i < 20; ++i) {
    one.push(Update{});
    four.push(Update{});
    REQUIRE(one.hash() == four.hash());
    if (i == 10)  // the cut is made anew
      for (EntityRegistry* registry : {&one, &four})
        registry->create_under(registry->find_path("/#1:1"), {}, Position{}).or_stop();
  }
  CHECK(four.profile().pass_counters().branches == 20 * 16);
}

TEST_CASE("on_begin is called on the registry's thread, after the handlers it waits for, and its no is obeyed") {
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create_many(5000, Health{}, Count{}, Armor{});
  std::vector<std::uint32_t> gathered;
  std::size_t at_begin = 0, passes = 0;
  std::atomic<std::uint32_t> called{0};
  const auto here = std::this_thread::get_id();
  Handlers handlers;
  handlers.add(registry.subscribe("a gather",
                                  [&](const Update&, const Health&, Entity self) { gathered.push_back(self.index); },
                                  {.on_begin = [&] { return gathered.clear(), true; }, .external_writes = {"list"}}));
  handlers.add(registry.subscribe("b use",
                                  [&](const Update&, Count& count) {
                                    count.hits += static_cast<std::uint32_t>(gathered.size());
                                    ++called;
                                  },
                                  {.on_begin =
                                       [&] {
                                         CHECK(std::this_thread::get_id() == here);
                                         at_begin = gathered.size();
                                         return ++passes % 2 == 1;
                                       },
                                   .external_reads = {"list"}}));
  handlers.add(registry.subscribe("c other", [](const Update&, Armor& armor) { armor.factor += 1; }));
  registry.push(Update{});
  CHECK(at_begin == 5000);
  CHECK(called == 5000);
  CHECK(std::ranges::is_sorted(gathered));
  registry.push(Update{});
  CHECK(called == 5000);
  registry.each<Armor>([](const Armor& armor) { REQUIRE(armor.factor == 3); });
}

TEST_CASE("who reads the past is told of every column before it changes, on the registry's thread") {
  struct Reader final : ColumnPreserver {
    std::thread::id here = std::this_thread::get_id();
    std::map<std::pair<const Chunk*, std::uint32_t>, std::vector<std::byte>> kept;
    bool elsewhere = false, twice = false;
    void before_write(const Chunk& chunk, std::uint32_t slot) override {
      elsewhere |= std::this_thread::get_id() != here;
      auto& bytes = kept[{&chunk, slot}];
      twice |= !bytes.empty();
      const std::size_t size = chunk.archetype->slot_types[slot]->size * chunk.count;
      bytes.assign(chunk.slots()[slot].data, chunk.slots()[slot].data + size);
    }
    void before_recycle(const Chunk&) override {}
  };
  ThreadPool pool(4);
  EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
  registry.create_many(5000, Count{.hits = 1}, Armor{});
  registry.create_many(700, Count{.hits = 1}, Health{});
  Handlers handlers;
  handlers.add(registry.subscribe("a", [](const Update&, Count& count) { ++count.hits; }));
  handlers.add(registry.subscribe("b", [](const Update&, Count& count, const Armor&) { count.hits += 10; }));
  handlers.add(registry.subscribe("c", [](const Update&, Health* health, const Count&) {
    if (health) health->value = 1;
  }));
  Reader reader;
  registry.host().add_preserver(reader);
  registry.host().begin_version();
  registry.push(Update{});
  registry.push(Update{});
  registry.host().remove_preserver(reader);
  CHECK_FALSE(reader.elsewhere);
  CHECK_FALSE(reader.twice);
  std::size_t counts = 0;
  for (const auto& [key, bytes] : reader.kept) {
    const auto& [chunk, slot] = key;
    if (chunk->archetype->slot_types[slot]->id != TypeTraits<Count>::id) continue;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Count), ++counts) {
      Count count;
      std::memcpy(&count, bytes.data() + at, sizeof count);
      REQUIRE(count.hits == 1);
    }
  }
  CHECK(counts == 5700);
  registry.each<Count, Armor>([](const Count& count, const Armor&) { REQUIRE(count.hits == 23); });
}

TEST_CASE("a span is never cut: handlers of whole rows see the same runs as with one worker") {
  const auto runs = [](Executor* executor) {
    EntityRegistry registry({.executor = executor, .pass_serial_below_ns = 0});
    registry.create_many(5000, Slots{});
    std::vector<Entity> told;
    const auto s = registry.subscribe(
        "s", [](const Update&, std::span<const Slots> slots, std::span<const Entity> ids, Outbox& out) {
          out.post(ids.front(), Ping{.hops = static_cast<std::uint32_t>(slots.size())});
        });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lengths;
    const auto p = registry.subscribe(
        "p", [&](const Ping& ping, const Slots&, Entity self) { lengths.emplace_back(self.index, ping.hops); });
    registry.push(Update{});
    return lengths;
  };
  ThreadPool pool(4);
  CHECK(runs(&pool) == runs(nullptr));
  CHECK(runs(&pool).size() > 4);
}

TEST_CASE("what is not split goes row after row, however many rows are left over in the last chunk") {
  ThreadPool pool(4);
  for (std::uint32_t count = 1; count < 3000; count += count < 40 ? 1 : 173) {
    EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
    registry.create_many(count, Health{});
    registry.create_many(count, Health{}, Armor{});
    std::vector<std::uint32_t> seen;
    const auto s =
        registry.subscribe("s", [&](const Update&, const Health&, Entity self) { seen.push_back(self.index); });
    registry.push(Update{});
    REQUIRE(seen.size() == 2 * count);
    REQUIRE(std::ranges::is_sorted(seen));
  }
}

TEST_CASE("handlers on several workers create entities, and ids are those of one worker") {
  const auto made = [](Executor* executor) {
    EntityRegistry registry({.executor = executor, .pass_serial_below_ns = 0});
    registry.create_many(2000, Health{}, Count{});
    const auto s1 = registry.subscribe("1", [](const Update&, const Health&, Entity self, Spawner& spawner) {
      if (self.index % 3 == 0) spawner.create(Armor{.factor = static_cast<float>(self.index)});
    });
    const auto s2 = registry.subscribe("2", [](const Update&, Count&, Entity self, Spawner& spawner) {
      if (self.index % 5 == 0) spawner.create(Position{.at = {.x = static_cast<float>(self.index), .y = 0, .z = 0}});
    });
    for (int i = 0; i < 3; ++i) registry.push(Update{});
    return registry.hash();
  };
  ThreadPool pool(4);
  CHECK(made(&pool) == made(nullptr));
}

TEST_CASE("handlers subscribed, ended and disabled inside handlers of a pass begin and end in their turn") {
  const auto result = [](Executor* executor) {
    EntityRegistry registry({.executor = executor, .pass_serial_below_ns = 0});
    registry.create_many(3000, Health{}, Count{}, Armor{});
    static std::vector<Subscription> kept;  // the handlers below run in turn where they touch it
    kept.clear();
    const auto s1 = registry.subscribe("1", [](const Update&, const Health&, Entity self, Outbox& out) {
      if (self.index % 1000 == 7)
        kept.push_back(out.subscribe("late-" + std::to_string(self.index),
                                     [](const Update&, Armor& armor) { armor.factor += 1; }));
    });
    const auto s2 = registry.subscribe("2", [](const Update&, Count& count, Entity self, Outbox& out) {
      ++count.hits;
      if (self.index == 2500 && count.hits == 3) out.set_handler_enabled("late-7", false);
    });
    for (int i = 0; i < 5; ++i) registry.push(Update{});
    const std::uint64_t hash = registry.hash();
    kept.clear();
    return hash;
  };
  ThreadPool pool(4);
  CHECK(result(&pool) == result(nullptr));
}

TEST_CASE("a handler that asks for timers all the time is not cut for long, and its timers are those of one worker") {
  const auto result = [](Executor* executor, std::uint64_t* turns) {
    EntityRegistry registry({.executor = executor, .pass_serial_below_ns = 1});
    registry.create_many(20'000, Count{});
    const auto s1 = registry.subscribe("1", [](const Update&, Count& count, Entity self, Outbox& out) {
      for (int i = 0; i < 50; ++i) count.hits = count.hits * 31 + self.index;  // heavy enough to be cut
      if (self.index % 16 == 0) count.hits += static_cast<std::uint32_t>(out.post_after(1'000'000, self, Ping{}));
    });
    for (int i = 0; i < 100; ++i) registry.push(Update{});
    if (turns) *turns = registry.profile().pass_counters().turns;
    return registry.hash();
  };
  ThreadPool pool(4);
  std::uint64_t turns = 0;
  CHECK(result(&pool, &turns) == result(nullptr, nullptr));
  CHECK(turns < 100 * 8);  // where it was cut each time: tens of tasks in each of 100 passes
}

TEST_CASE("a light pass runs on the registry's thread alone") {
  ThreadPool pool(2);
  EntityRegistry registry({.executor = &pool});
  registry.create_many(1000, Position{}, Velocity{});
  const auto s = registry.subscribe<move>("move");
  const auto passes = [&] {
    for (int i = 0; i < 100; ++i) registry.push(Update{});
    return registry.profile().pass_counters();
  };
  const PassCounters before = passes();  // the first time it is cold, and may be taken for a heavy one for a while
  const PassCounters after = passes();
  // The clock says what is light, and some are interrupted. A heavy pass would be spread each time.
  CHECK(after.spread <= before.spread + 50);
  CHECK(after.alone >= before.alone + 50);
}

TEST_CASE("a pool of threads is shared by registries of several threads") {
  ThreadPool pool(3);
  std::vector<std::uint64_t> hashes(3);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < hashes.size(); ++t)
    threads.emplace_back([&, t] {
      EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
      registry.create_many(3000, Position{}, Velocity{.by = {.x = 1, .y = 2, .z = 0}});
      const auto s = registry.subscribe<move>("move");
      for (int i = 0; i < 50; ++i) registry.push(Update{.dt = 0.5f});
      hashes[t] = registry.hash();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(hashes[0] == hashes[1]);
  CHECK(hashes[0] == hashes[2]);
}

}  // namespace parallel_test
