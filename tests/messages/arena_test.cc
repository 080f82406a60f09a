#include "messages/arena.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <new>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/test_types.h"

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
using namespace test;

/// One message as a person would keep it: no batches, no layout.
struct Plain {
  TypeId type = 0;
  BatchKind kind = BatchKind::each;
  std::uint64_t argument = 0;  // parts, or the due time
  std::uint64_t timer = 0;
  std::vector<Entity> targets;
  std::vector<std::uint64_t> causes;
  std::vector<TypeId> components;
  std::vector<std::byte> payload;  // with its components; of timed: the inner batch
  bool operator==(const Plain&) const = default;
};

/// The messages of a batch, one by one, appended to `out`.
void spread(BatchView batch, std::vector<Plain>& out) {
  const BatchHeader& h = batch.header();
  REQUIRE(h.bytes % 16 == 0);
  REQUIRE(reinterpret_cast<std::uintptr_t>(batch.body()) % 16 == 0);
  Plain one{.type = h.type,
            .kind = h.kind,
            .argument = h.argument,
            .timer = 0,
            .targets = {},
            .causes = {},
            .components = {},
            .payload = {}};
  for (const RowSetEntry& entry : batch.row_set()) one.components.push_back(entry.type);
  const auto cause_at = [&](const std::byte* at) {
    std::uint64_t cause;
    std::memcpy(&cause, at, 8);
    one.causes = {cause};
  };
  switch (h.kind) {
    case BatchKind::timed:
      one.timer = batch.timer();
      one.payload.assign(batch.inner().bytes().begin(), batch.inner().bytes().end());
      out.push_back(one);
      return;
    case BatchKind::shared:
      for (std::uint32_t i = 0; i < h.count; ++i) one.targets.push_back(batch.target(i));
      if (batch.has_causes()) cause_at(batch.body());
      one.payload.assign(batch.payload(0), batch.payload(0) + h.payload_bytes);
      out.push_back(one);
      return;
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < h.count; ++i) {
        const TableItem item = table_item(batch, at);
        if (batch.has_causes()) cause_at(at + 16);
        one.targets = {item.target};
        one.payload.assign(item.table.begin(), item.table.end());
        out.push_back(one);
        at = item.next;
      }
      REQUIRE(at == batch.bytes().data() + h.bytes);
      return;
    }
    default:
      for (std::uint32_t i = 0; i < h.count; ++i) {
        if (h.kind != BatchKind::world) one.targets = {batch.target(i)};
        if (batch.has_causes()) cause_at(batch.item(i) + (h.kind == BatchKind::world ? 0 : 8));
        one.payload.assign(batch.payload(i), batch.payload(i) + h.payload_bytes);
        out.push_back(one);
      }
  }
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto* at = reinterpret_cast<const std::byte*>(&value);
  return {at, at + sizeof value};
}

template <class... Cs, class M>
std::vector<std::byte> row_bytes(const M& message, const Cs&... components) {
  std::vector<std::byte> bytes(StaticRowSet<M, Cs...>::shape.bytes);
  StaticRowSet<M, Cs...>::put(bytes.data(), message, components...);
  return bytes;
}

/// Appends one random message to the writer and the same to the list.
void append_random(BatchWriter& writer, std::deque<Plain>& list, std::mt19937& random) {
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const Entity target{upto(1000) + 1, upto(3) + 1};
  Plain one;
  one.targets = {target};
  if (writer.causes()) {
    const std::uint64_t cause = upto(5);
    writer.set_cause(cause);
    one.causes = {cause};
  }
  const bool by_id = upto(2) == 0;
  const auto fill = [](std::byte* at, const auto& value) { std::memcpy(at, &value, sizeof value); };
  switch (upto(11)) {
    case 0:
    case 1: {
      const Damage m{.amount = static_cast<float>(upto(9)), .from = target};
      one.type = TypeTraits<Damage>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Damage>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 2: {
      const Nudge m{.x = 1, .y = 2, .z = static_cast<float>(upto(9))};
      one.type = TypeTraits<Nudge>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Nudge>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 3: {
      const Wide m{.low = upto(9), .high = 7};
      one.type = TypeTraits<Wide>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Wide>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 4: {
      const Tick m{.dt = 0.5};
      one.type = TypeTraits<Tick>::id;
      one.kind = BatchKind::world;
      one.targets.clear();
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_world(PayloadShape::of<Tick>()), m);
      else
        writer.append_world(m);
      break;
    }
    case 5: {
      const Nudge m{.x = static_cast<float>(upto(9)), .y = 0, .z = 0};
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::subtree;
      one.argument = 1 + upto(7);
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_subtree(PayloadShape::of<Nudge>(), target, one.argument), m);
      else
        writer.append_subtree(target, one.argument, m);
      break;
    }
    case 6: {
      const Nudge m{.x = 3, .y = 0, .z = 0};
      one.targets.clear();
      for (std::uint32_t i = 0, n = 1 + upto(40); i < n; ++i) one.targets.push_back({i + 1, 1});
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::shared;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_shared(PayloadShape::of<Nudge>(), one.targets), m);
      else
        writer.append_shared(one.targets, m);
      break;
    }
    case 7: {
      std::vector<std::byte> table(upto(60));
      for (std::byte& b : table) b = static_cast<std::byte>(random());
      one.type = hash32("test.Say");
      one.kind = BatchKind::table;
      one.argument = upto(2);
      one.payload = table;
      writer.append_table(one.type, target, table, one.argument);
      break;
    }
    case 8: {
      const Make m{.parent = target};
      const Health health{.value = static_cast<float>(upto(9))};
      const Matrix matrix{.m = {1, 2, 3, 4}};
      one.type = TypeTraits<Make>::id;
      const RowSet rows(PayloadShape::of<Make>(),
                        std::array{PayloadShape{TypeTraits<Health>::id, sizeof(Health), alignof(Health)},
                                   PayloadShape{TypeTraits<Matrix>::id, sizeof(Matrix), alignof(Matrix)}});
      for (const RowSetEntry& entry : rows.entries()) one.components.push_back(entry.type);
      one.payload = row_bytes(m, health, matrix);
      REQUIRE(rows.shape().bytes == one.payload.size());
      if (by_id) {
        std::byte* at = writer.append_rows(rows, target);
        fill(at, m);
        fill(at + rows.offset(TypeTraits<Health>::id), health);
        fill(at + rows.offset(TypeTraits<Matrix>::id), matrix);
      } else if (upto(2) == 0) {
        writer.append_rows(target, m, matrix, health);  // the order they are named in is no matter
      } else {
        writer.append_rows(target, m, health, matrix);
      }
      break;
    }
    case 9: {
      const Make m{.parent = target};
      one.type = TypeTraits<Make>::id;
      one.components = {TypeTraits<Tag64>::id};
      one.payload = row_bytes(m, Tag64{.bits = 5});
      if (by_id) {
        one.kind = BatchKind::shared;
        one.targets = {target, target, target};
        writer.append_rows_shared(one.targets, m, Tag64{.bits = 5});
      } else {
        writer.append_rows(target, m, Tag64{.bits = 5});
      }
      break;
    }
    case 10: {
      BatchBuilder inner;
      for (std::uint32_t i = 0, n = 1 + upto(5); i < n; ++i) inner.append(target, Nudge{});
      one.targets.clear();
      one.causes.clear();
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::timed;
      one.argument = upto(100);
      one.timer = upto(100);
      one.payload.assign(inner.bytes().begin(), inner.bytes().end());
      writer.append_timed(one.argument, one.timer, inner.front());
      break;
    }
    default: break;
  }
  list.push_back(one);
}

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

TEST_CASE("a loop of posts of one type fills whole segments with one batch each") {
  Arena arena(64u << 10);
  for (std::uint32_t i = 0; i < 10000; ++i) arena.append(Entity{i + 1, 1}, Tick{.dt = double(i)});
  const std::size_t per_segment = (64 * 1024 - 64 - 16 - 32) / 16;
  CHECK(arena.batches() == (10000 + per_segment - 1) / per_segment);
  CHECK(arena.front().count() == per_segment);
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
