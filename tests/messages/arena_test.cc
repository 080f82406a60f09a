#include "messages/arena.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <new>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/plain_messages.h"

namespace {

std::size_t allocations = 0;

}  // namespace

// Counts what the arena asks the system for: its segments are over-aligned, and nothing else in these tests is.
void* operator new(std::size_t bytes, std::align_val_t align) {
  ++allocations;
  // Exactly as many bytes as asked for: AddressSanitizer sees reads behind them.
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(align), bytes) == 0) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace muster;
using namespace ::test;

TEST_CASE("an arena gives back every message in the order it was appended, whatever the mix") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Arena arena(seed % 2 == 0 ? 1024 : 4096);
    std::deque<Plain> list;
    for (int round = 0; round < 300; ++round) {
      const auto appends = random() % 20;
      for (std::uint32_t i = 0; i < appends; ++i) append_random(arena, list, random);
      if (random() % 6 == 0) arena.seal();
      if (random() % 50 == 0) arena.set_causes(!arena.causes());
      if (random() % 40 == 0) arena.trim();
      if (random() % 10 == 0) {
        std::vector<Plain> all;
        std::size_t bytes = 0, batches = 0;
        arena.for_each([&](BatchView batch) {
          spread(batch, all);
          bytes += batch.bytes().size();
          ++batches;
        });
        REQUIRE(std::equal(all.begin(), all.end(), list.begin(), list.end()));
        REQUIRE(bytes == arena.bytes());
        REQUIRE(batches == arena.batches());
      }
      for (auto pops = random() % (round < 200 ? 6 : 30); pops > 0 && !arena.empty(); --pops) {
        const BatchView front = arena.front();
        const std::vector<std::byte> before(front.bytes().begin(), front.bytes().end());
        std::deque<Plain> more;
        append_random(arena, more, random);  // while the front is being read
        REQUIRE(std::equal(before.begin(), before.end(), front.bytes().begin(), front.bytes().end()));
        std::vector<Plain> messages;
        spread(front, messages);
        for (const Plain& message : messages) {
          REQUIRE(message == list.front());
          list.pop_front();
        }
        list.insert(list.end(), more.begin(), more.end());
        arena.pop_front();
      }
    }
    while (!arena.empty()) {
      std::vector<Plain> messages;
      spread(arena.front(), messages);
      for (const Plain& message : messages) {
        REQUIRE(message == list.front());
        list.pop_front();
      }
      arena.pop_front();
    }
    CHECK(list.empty());
    CHECK(arena.bytes() == 0);
  }
}

TEST_CASE("a builder holds the same bytes as an arena that was given the same messages") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random_a(seed), random_b(seed);
    Arena arena;  // one segment is enough
    BatchBuilder builder(64u << 10);
    std::deque<Plain> list;
    for (int i = 0; i < 400; ++i) {
      append_random(arena, list, random_a);
      append_random(builder, list, random_b);
    }
    std::vector<std::byte> from_arena;
    while (!arena.empty()) {
      const auto bytes = arena.front().bytes();
      from_arena.insert(from_arena.end(), bytes.begin(), bytes.end());
      arena.pop_front();
    }
    const auto bytes = builder.bytes();
    CHECK(std::equal(bytes.begin(), bytes.end(), from_arena.begin(), from_arena.end()));
  }
}

TEST_CASE("a loop of posts of one type is batches of one size, whatever the segments") {
  constexpr std::size_t per_batch = (Arena::batch_bytes_default - sizeof(BatchHeader)) / 16;
  constexpr std::uint32_t count = 40'000;
  for (const std::size_t segment_bytes : {std::size_t{1024}, std::size_t{64} << 10, Arena::segment_bytes_default}) {
    CAPTURE(segment_bytes);
    for (const std::uint32_t before : {0u, 1u, 7u, 1000u}) {  // messages of another type, some of them read already
      CAPTURE(before);
      Arena arena(segment_bytes);
      for (std::uint32_t i = 0; i < before; ++i) arena.append_world(Tick{.dt = double(i)});
      if (before == 7) arena.pop_front();
      const std::size_t others = arena.batches();
      for (std::uint32_t i = 0; i < count; ++i) arena.append(Entity{i + 1, 1}, Tick{.dt = double(i)});
      CHECK(arena.batches() == others + (count + per_batch - 1) / per_batch);
      if (others) arena.pop_front();
      std::uint32_t next = 0;
      while (!arena.empty()) {
        const BatchView batch = arena.front();
        CHECK(batch.count() == std::min<std::size_t>(per_batch, count - next));
        for (std::uint32_t i = 0; i < batch.count(); ++i) {
          if (batch.target(i) != Entity{++next, 1}) FAIL("message " << next << " is another");
        }
        arena.pop_front();
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("dropping what was looked through leaves what lies behind, as popping it does") {
  std::mt19937 random(11);
  Arena popped(1024), dropped(1024);
  std::uint32_t next = 0;
  for (int round = 0; round < 400; ++round) {
    for (Arena* arena : {&popped, &dropped})
      for (std::uint32_t i = next, end = next + round % 90; i < end; ++i) {
        if (i % 3 == 0 && i % 2 == 0) arena->append_world(Tick{.dt = double(i)});
        arena->append(Entity{i + 1, 1}, Tick{.dt = double(i)});
        if (i % 5 == 0) arena->seal();
      }
    next += static_cast<std::uint32_t>(round % 90);
    const std::size_t count = random() % (popped.batches() + 1);
    std::size_t seen = 0;
    const Arena::Place end = dropped.visit(count, [&](const BatchView&) { return ++seen != 0; });
    CHECK(seen == count);
    popped.seal();
    dropped.seal();
    dropped.drop(count, end);
    for (std::size_t i = 0; i < count; ++i) popped.pop_front();
    REQUIRE(dropped.batches() == popped.batches());
    CHECK(dropped.bytes() == popped.bytes());
    if (popped.empty()) continue;
    const auto a = popped.front().bytes(), b = dropped.front().bytes();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST_CASE("taken batches are told of the one behind, where it lies behind") {
  Arena arena(1024);
  for (std::uint32_t i = 0; i < 100; ++i) {
    arena.append(Entity{i + 1, 1}, Tick{.dt = double(i)});
    arena.seal();
  }
  const std::byte* told = nullptr;
  std::uint32_t at = 0, followed = 0;
  const std::size_t taken = arena.take(60, [&](const BatchView& batch, const std::byte* next) {
    if (told) {
      CHECK(told == batch.bytes().data());
      ++followed;
    }
    told = next;
    CHECK(batch.target(0).index == ++at);
    return at != 41;  // is not taken
  });
  CHECK(taken == 40);
  CHECK(followed > 30);
  CHECK(arena.front().target(0).index == 41);
}

TEST_CASE("a warm arena allocates nothing") {
  Arena arena(4096);
  const std::vector<Entity> crowd(2000, Entity{1, 1});
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      arena.append(Entity{i + 1, 1}, Damage{});
      if (i % 7 == 0) arena.append_world(Tick{});
    }
    arena.append_shared(crowd, Nudge{});  // larger than a segment
    while (!arena.empty()) arena.pop_front();
  };
  round();
  const std::size_t before = allocations, capacity = arena.capacity();
  for (int i = 0; i < 20; ++i) round();
  CHECK(allocations == before);
  CHECK(arena.capacity() == capacity);
  arena.trim();
  CHECK(arena.capacity() < capacity);
}

TEST_CASE("a queue that is drained each time stays in one segment for ever") {
  Arena arena(4096);
  const std::size_t before = allocations;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    arena.append(Entity{i + 1, 1}, Damage{});
    arena.append_world(Tick{});
    arena.pop_front();
    arena.pop_front();
  }
  CHECK(allocations - before == 1);
}

TEST_CASE("reading all batches does not end the open one") {
  Arena arena;
  arena.append(Entity{1, 1}, Nudge{});
  std::size_t seen = 0;
  arena.for_each([&](BatchView batch) { seen += batch.count(); });
  arena.append(Entity{2, 1}, Nudge{});
  CHECK(seen == 1);
  CHECK(arena.batches() == 1);
  CHECK(arena.front().count() == 2);
}

TEST_CASE("clearing and swapping arenas keeps their messages apart") {
  Arena a(1024), b;
  for (std::uint32_t i = 0; i < 500; ++i) a.append(Entity{i + 1, 1}, Damage{});
  b.append_world(Tick{.dt = 2});
  a.swap(b);
  CHECK(a.batches() == 1);
  CHECK(a.front().kind() == BatchKind::world);
  CHECK(b.front().target(0) == Entity{1, 1});
  b.clear();
  CHECK(b.empty());
  b.append(Entity{9, 1}, Damage{});
  CHECK(b.front().target(0) == Entity{9, 1});
}

TEST_CASE("a builder begins a new batch before one exceeds its limit, and lets one large message through") {
  BatchBuilder builder(1024);
  for (std::uint32_t i = 0; i < 1000; ++i) builder.append(Entity{i + 1, 1}, Damage{});
  const std::vector<Entity> crowd(500, Entity{1, 1});
  builder.append_shared(crowd, Nudge{});
  std::uint32_t messages = 0;
  std::size_t largest = 0;
  builder.for_each([&](BatchView batch) {
    if (batch.kind() == BatchKind::each) {
      messages += batch.count();
      largest = std::max(largest, batch.bytes().size());
    } else {
      CHECK(batch.count() == 500);
    }
  });
  CHECK(messages == 1000);
  CHECK(largest <= 1024);
  CHECK(largest > 900);
  builder.clear();
  CHECK(builder.empty());
  CHECK(builder.bytes().empty());
}

}  // namespace
