// What waits of a session is bounded in bytes, and counted until it was taken or answered.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <thread>

#include "tests/registry/sight.h"
#include "tests/server/live_world.h"
#include "tests/support/all_threads.h"

namespace requests_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

const std::vector<std::byte> batch(64);

}  // namespace

TEST_CASE("a session may have exactly as many bytes waiting as its bound says, and more when some were taken",
          "[limits]") {
  Requests requests(3 * batch.size());
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(requests.put(batch, i, i == 1));
  CHECK_FALSE(requests.has_room(16));
  CHECK_FALSE(requests.put(batch, 3, false));
  REQUIRE(requests.front());
  // A question that waits elsewhere counts until it was answered.
  const std::vector<std::byte> question = requests.take();
  CHECK(question == batch);
  CHECK_FALSE(requests.put(batch, 3, false));
  requests.release(question.size());
  CHECK(requests.has_room(batch.size()));
  CHECK(requests.put(batch, 3, false));
  CHECK_FALSE(requests.put(batch, 4, false));
  REQUIRE(requests.front());
  requests.pop();
  CHECK(requests.put(batch, 4, false));
  CHECK(requests.bytes() == 3 * batch.size());
}

TEST_CASE("all sessions together may have so many bytes waiting; who has nothing waiting may put one all the same",
          "[limits]") {
  const auto all = std::make_shared<RequestBytes>(4 * batch.size());
  std::optional<Requests> first;
  first.emplace(1u << 20, all);
  Requests second(1u << 20, all);
  for (int i = 0; i < 4; ++i) CHECK(first->put(batch, 1, false));
  CHECK_FALSE(first->has_room(batch.size()));
  CHECK_FALSE(first->put(batch, 1, false));
  CHECK(second.put(batch, 1, false));
  CHECK_FALSE(second.put(batch, 2, false));
  CHECK(all->bytes == 5 * batch.size());
  first.reset();  // with its session
  CHECK(all->bytes == batch.size());
  for (int i = 0; i < 3; ++i) CHECK(second.put(batch, 2, false));
  CHECK_FALSE(second.put(batch, 3, false));
}

TEST_CASE("batches of every size come out as they went in, whatever was taken meanwhile", "[limits]") {
  Requests requests(64u << 20);
  std::vector<std::vector<std::byte>> sent;
  std::size_t taken = 0;
  const auto take = [&] {
    Request* const first = requests.front();
    REQUIRE(first);
    CHECK(first->request == taken);
    CHECK(reinterpret_cast<std::uintptr_t>(first->batch.data()) % 16 == 0);
    REQUIRE(std::ranges::equal(first->batch, sent[taken]));
    if (++taken % 3 == 0)
      CHECK(requests.take() == sent[taken - 1]);
    else
      requests.pop();
  };
  std::size_t unreleased = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::size_t bytes = i % 97 == 0 ? 100'000 : i % 13 == 0 ? 4096 + 16 * (i % 5) : 48 + 16 * (i % 40);
    sent.emplace_back(bytes, static_cast<std::byte>(i));
    CHECK(requests.put(sent.back(), i, true));
    if (i % 7 == 0)
      for (std::uint64_t n = i % 11; n > 0 && taken < sent.size(); --n) take();
  }
  while (taken < sent.size()) take();
  CHECK_FALSE(requests.front());
  for (std::size_t i = 2; i < sent.size(); i += 3) unreleased += sent[i].size();
  CHECK(requests.bytes() == unreleased);
}

TEST_CASE(
    "one that took others' places came when it came itself, and what is kept of them counts with its session and with "
    "all",
    "[limits]") {
  const auto all = std::make_shared<RequestBytes>(1u << 20);
  Requests requests(1u << 20, all);
  BatchBuilder steer;
  steer.append(Entity{1, 1}, sight::Steer{.to = 1});
  const auto bytes = steer.front().bytes();
  for (std::uint64_t i = 1; i <= 3; ++i) REQUIRE(requests.put(bytes, i, true, 1000 * i, true));
  CHECK(requests.bytes() == bytes.size() + 2 * sizeof(std::uint64_t));
  CHECK(all->bytes == requests.bytes());
  const Request* const only = requests.front();
  REQUIRE(only);
  CHECK(only->request == 3);
  CHECK(only->came_ns == 3000);
  CHECK((only->overtaken == std::vector<std::uint64_t>{1, 2}));
  requests.pop();
  CHECK_FALSE(requests.front());
  CHECK(requests.bytes() == 0);
  CHECK(all->bytes == 0);
}

TEST_CASE(
    "what was added is seen when it is handed over, counts from the start, and is handed over by itself as it grows",
    "[limits]") {
  const auto all = std::make_shared<RequestBytes>(1u << 20);
  Requests requests(8 * batch.size(), all);
  REQUIRE(requests.add(batch, 1, true));
  REQUIRE(requests.add(batch, 2, true));
  CHECK_FALSE(requests.front());
  CHECK_FALSE(requests.was_full());
  CHECK(requests.pass_on());
  CHECK_FALSE(requests.pass_on());
  CHECK(requests.bytes() == 2 * batch.size());
  REQUIRE(requests.front());
  CHECK(requests.front()->request == 1);
  for (std::uint64_t i = 3; i <= 8; ++i) REQUIRE(requests.add(batch, i, true));
  CHECK_FALSE(requests.has_room(16));
  CHECK_FALSE(requests.add(batch, 9, true));  // what was not handed over counts
  const std::size_t dropped = requests.drop();
  CHECK(dropped == batch.size());
  CHECK_FALSE(requests.has_room(16));  // until it is released
  requests.release(dropped);
  CHECK(requests.has_room(16));
  CHECK(requests.pass_on());
  for (std::uint64_t i = 2; i <= 8; ++i) {
    REQUIRE(requests.front());
    CHECK(requests.front()->request == i);
    requests.pop();
  }
  CHECK(all->bytes == 0);

  Requests many(64u << 20, all);
  std::uint64_t added = 0;
  while (!many.was_full()) REQUIRE(many.add(batch, ++added, true));
  CHECK(added > 8);
  CHECK(added <= 1024 / batch.size() + 1);
  std::uint64_t seen = 0;
  for (; many.front(); many.pop()) CHECK(many.front()->request == ++seen);
  CHECK(seen == added - 1);  // the last one began the next pile
  CHECK(many.pass_on());
  REQUIRE(many.front());
  CHECK(many.front()->request == added);
}

TEST_CASE("what waits takes at most four times as much memory as it counts, however few came in a read", "[limits]") {
  constexpr std::size_t smallest = sizeof(BatchHeader) + 16;
  for (const std::size_t bytes : {smallest, batch.size(), std::size_t{400}, std::size_t{5000}})
    for (const std::uint64_t in_a_read : {1, 2, 30, 450}) {
      INFO(in_a_read << " of " << bytes << " bytes in a read");
      Requests requests(1u << 20);
      const std::vector<std::byte> small(bytes);
      std::uint64_t added = 0;
      while (requests.add(small, ++added, true))
        if (added % in_a_read == 0) requests.pass_on();
      requests.pass_on();
      CHECK(requests.memory_bytes() <= 4 * requests.bytes());
      for (std::uint64_t i = 1; i < added; ++i) {
        REQUIRE(requests.front());
        REQUIRE(requests.front()->request == i);
        REQUIRE(std::ranges::equal(requests.front()->batch, small));
        requests.pop();
      }
      CHECK_FALSE(requests.front());
      CHECK(requests.bytes() == 0);
    }
}

TEST_CASE("who sends one at a time has its memory used again, and keeps little of it after a burst", "[limits]") {
  Requests requests(64u << 20);
  std::set<const std::byte*> places;
  const auto one_at_a_time = [&](std::uint64_t times) {
    for (std::uint64_t i = 1; i <= times; ++i) {
      REQUIRE(requests.put(batch, i, true));
      const Request* const first = requests.front();
      REQUIRE(first);
      REQUIRE(first->request == i);
      REQUIRE(std::ranges::equal(first->batch, batch));
      places.insert(first->batch.data());
      requests.pop();
    }
  };
  one_at_a_time(1000);
  CHECK(places.size() <= 3);
  const std::size_t little = requests.memory_bytes();
  CHECK(little <= 8 << 10);
  CHECK(little >= places.size() * (1024 + 16 * sizeof(Request)));  // what is kept is counted
  for (std::uint64_t i = 1; i <= 10'000; ++i) REQUIRE(requests.put(batch, i, true));
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    REQUIRE(requests.front());
    REQUIRE(requests.front()->request == i);
    REQUIRE(std::ranges::equal(requests.front()->batch, batch));
    requests.pop();
  }
  one_at_a_time(3);
  CHECK(requests.memory_bytes() <= little + (2 << 10));
}

TEST_CASE("the memory of large ones is not kept, so that it never stands in the way of small ones", "[limits]") {
  Requests requests(64u << 20);
  const std::vector<std::byte> large(8 << 10);
  const auto take_one = [&](std::span<const std::byte> bytes) {
    REQUIRE(requests.put(bytes, 1, true));
    REQUIRE(requests.front());
    requests.pop();
  };
  for (int i = 0; i < 10; ++i) take_one(large);
  CHECK(requests.memory_bytes() <= 4 << 10);
  for (int i = 0; i < 10; ++i) take_one(batch);
  CHECK(requests.memory_bytes() <= 8 << 10);
}

TEST_CASE("one that is latest takes the place of the newest, whether that was handed over or not", "[limits]") {
  const auto all = std::make_shared<RequestBytes>(1u << 20);
  Requests requests(1u << 20, all);
  const auto steer = [](float to) {
    BatchBuilder builder;
    builder.append(Entity{1, 1}, sight::Steer{.to = to});
    const auto bytes = builder.bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  REQUIRE(requests.add(steer(1), 1, true, 0, true));
  REQUIRE(requests.add(steer(2), 2, true, 0, true));  // not handed over
  CHECK(requests.pass_on());
  REQUIRE(requests.add(steer(3), 3, true, 0, true));  // handed over
  CHECK_FALSE(requests.pass_on());
  CHECK(requests.bytes() == steer(1).size() + 2 * sizeof(std::uint64_t));
  CHECK(all->bytes == requests.bytes());
  REQUIRE(requests.add(batch, 4, true));
  REQUIRE(requests.add(steer(5), 5, true, 0, true));  // behind another: its own
  CHECK(requests.pass_on());
  REQUIRE(requests.front());
  CHECK(requests.front()->request == 3);
  CHECK((requests.front()->overtaken == std::vector<std::uint64_t>{1, 2}));
  requests.pop();
  CHECK(requests.front()->request == 4);
  requests.pop();
  CHECK(requests.front()->request == 5);
  REQUIRE(requests.put(steer(6), 6, true, 0, true));  // it is being taken: nobody takes its place
  requests.pop();
  REQUIRE(requests.front());
  CHECK(requests.front()->request == 6);
  requests.pop();
  CHECK(all->bytes == 0);
}

TEST_CASE("what one thread adds another takes whole and in order, and all of it is released", "[limits][threads]") {
  const auto all = std::make_shared<RequestBytes>(16u << 10);
  Requests requests(8u << 10, all);
  constexpr std::uint64_t count = 20'000;
  std::thread session([&] {
    std::mt19937 random(5);
    std::vector<std::byte> bytes;
    for (std::uint64_t i = 1; i <= count; ++i) {
      bytes.assign(48 + 16 * (random() % 30), static_cast<std::byte>(i));
      while (!requests.add(bytes, i, true)) {
        requests.pass_on();
        std::this_thread::yield();
      }
      if (random() % 10 == 0) requests.pass_on();
    }
    requests.pass_on();
  });
  std::size_t later = 0;
  for (std::uint64_t i = 1; i <= count;) {
    const Request* const next = requests.front();
    if (!next) {
      requests.release(std::exchange(later, 0));
      std::this_thread::yield();
      continue;
    }
    REQUIRE(next->request == i);
    REQUIRE(std::ranges::all_of(next->batch, [&](std::byte b) { return b == static_cast<std::byte>(i); }));
    later += requests.drop();
    ++i;
  }
  requests.release(later);
  session.join();
  CHECK(requests.bytes() == 0);
  CHECK(all->bytes == 0);
}

TEST_CASE("a session may ask far more one after the other than may wait of it at a time", "[limits]") {
  LiveWorldOptions options;
  options.limits.request_bytes_max = 4096;
  options.limits.all_request_bytes_max = 4096;
  LiveWorld world(options);
  ClientOptions patient = world.client_options();
  patient.time_max = 10s;
  auto client = Client::connect(patient);
  REQUIRE(client.has_value());
  for (int i = 0; i < 200; ++i) REQUIRE(client->ask<session::GetInfo>().has_value());
}

TEST_CASE("of messages whose schema says latest, those that a client sends while the world is busy become few inputs",
          "[limits]") {
  Subscription steer;  // outlives the world
  LiveWorld world;
  const Entity e = world.run([&](EntityRegistry& registry) {
    steer = registry.subscribe("steer", [](const sight::Steer& to, arena::Health& health) { health.value = to.to; });
    return registry.create("e", arena::Health{});
  });
  Client client = world.client();
  REQUIRE(client.ask<session::GetInfo>().has_value());
  REQUIRE(client.push(e, sight::Steer{.to = 99}).has_value());
  world.hold(true);
  std::vector<std::uint64_t> requests;
  for (int i = 1; i <= 50; ++i) {
    BatchBuilder edit;
    edit.append(e, sight::Steer{.to = static_cast<float>(i)});
    const auto request = client.send(edit.bytes());
    REQUIRE(request.has_value());
    requests.push_back(*request);
  }
  // Answered without the world: by then all are there.
  REQUIRE(client.ask_all(session::GetSchema{}).has_value());
  world.hold(false);
  std::vector<session::Ack> acks;
  for (const std::uint64_t request : requests) {
    const auto answer = client.wait(request);
    REQUIRE(answer.has_value());
    acks.push_back(session::read<session::Ack>(answer->front().batch()));
    CHECK(acks.back().sequence >= acks[acks.size() > 1 ? acks.size() - 2 : 0].sequence);
  }
  CHECK(acks.back().handled == 1);
  CHECK(acks.back().sequence - acks.front().sequence < 40);
  CHECK(std::ranges::count(acks, 0u, &session::Ack::handled) > 9);
  CHECK(world.run([&](EntityRegistry& registry) { return registry.get<arena::Health>(e).value; }) == 50);
}

}  // namespace requests_test
