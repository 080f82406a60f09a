// Runs under ThreadSanitizer too: writers on four threads, the registry on this one.
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

namespace inbox_threads_test {

using namespace muster;

namespace {

constexpr std::uint32_t writers = 4, messages = 5000;

/// How the registry's thread sleeps until something arrives.
class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
    heard_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    heard_.wait(lock, [&] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  bool rung_ = false;
};

struct Requests : InputSink {
  std::map<std::uint64_t, std::vector<std::uint64_t>> by_session;
  void on_input(const Envelope& envelope, std::span<const std::byte>) override {
    if (envelope.kind == InputKind::inbox) by_session[envelope.session].push_back(envelope.request);
  }
};

}  // namespace

TEST_CASE(
    "nebula 12: four threads write into lanes while the registry flushes: all arrives, once, in each writer's order") {
  EntityRegistry registry;
  std::map<std::uint32_t, std::vector<std::uint32_t>> seen;
  const auto s =
      registry.subscribe("log", [&](const game::Ping& ping, Entity self) { seen[self.index].push_back(ping.hops); });
  std::vector<Entity> targets;
  for (std::uint32_t i = 0; i < writers; ++i) targets.push_back(registry.create(game::Health{}));
  Requests requests;
  registry.host().add_sink(requests);
  Bell bell;
  registry.host().inbox().on_arrival([&] { bell.ring(); });

  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      // Small enough to be full now and then: the writer tries again. Opened and closed on this thread.
      const auto lane = registry.host().inbox().open_lane(w + 1, 4096);
      for (std::uint32_t i = 0; i < messages; ++i) {
        BatchBuilder builder;
        builder.append(targets[w], game::Ping{.hops = i});
        while (!lane->put(builder.bytes(), i)) std::this_thread::yield();
      }
    });
  std::uint64_t handled = 0;
  while (handled < std::uint64_t{writers} * messages) {
    bell.wait();
    handled += registry.flush().handled;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(registry.flush().handled == 0);

  std::vector<std::uint32_t> expected(messages);
  for (std::uint32_t i = 0; i < messages; ++i) expected[i] = i;
  for (std::uint32_t w = 0; w < writers; ++w) {
    CHECK(seen[targets[w].index] == expected);
    CHECK(requests.by_session[w + 1] == std::vector<std::uint64_t>(expected.begin(), expected.end()));
  }
  registry.host().remove_sink(requests);
}

TEST_CASE("lanes are opened and dropped, and who is woken changes, on many threads while the registry flushes") {
  EntityRegistry registry;
  registry.add_type<game::Ping>();
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> put = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      for (int i = 0; i < 300; ++i) {
        const auto lane = registry.host().inbox().open_lane(w);
        BatchBuilder builder;
        builder.append(Entity{}, game::Ping{});
        if (lane->put(builder.bytes())) ++put;
      }
    });
  std::thread host([&] {
    while (!stop) registry.host().inbox().on_arrival([] {});
  });
  std::uint64_t dead = 0;
  while (dead < 1200) dead += registry.flush().dead;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  host.join();
  CHECK(dead == put);
  CHECK(registry.flush().dead == 0);
}

TEST_CASE("bubel 7: threads create with the ids that were granted to them") {
  EntityRegistry registry;
  registry.add_type<game::Health>();
  constexpr std::uint32_t count = 500;
  std::vector<Entity> grants;
  for (std::uint32_t w = 0; w < writers; ++w) grants.push_back(registry.host().grant(count, w + 1));
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      const auto lane = registry.host().inbox().open_lane(w + 1);
      for (std::uint32_t i = 0; i < count; ++i) {
        // The new id is used before anyone knows that it exists.
        const Entity e{grants[w].index + i, 1};
        BatchBuilder builder;
        builder.append_rows(e, Create{}, game::Health{.value = 1});
        builder.append_rows(e, Set{}, game::Health{.value = static_cast<float>(i)});
        bool taken = true;
        builder.for_each([&](BatchView batch) { taken = taken && lane->put(batch.bytes()); });
        if (!taken) std::abort();  // checks belong to the main thread
      }
    });
  while (registry.entity_count() < writers * count) registry.flush();
  for (std::thread& thread : threads) thread.join();
  registry.flush();
  for (std::uint32_t w = 0; w < writers; ++w)
    for (std::uint32_t i = 0; i < count; ++i)
      REQUIRE(registry.get<game::Health>({grants[w].index + i, 1}).value == static_cast<float>(i));
}

}  // namespace inbox_threads_test
