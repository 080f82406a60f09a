// What it costs to put messages into batches and take them out again, nobody handling them.
//
// queue_*   append, then front and pop_front until empty: 1,024 messages a round, so all stays in the cache
// append_*  append alone; the arena is emptied outside what is timed, by the batch
#include "bench/support.h"
#include "messages/arena.h"

using namespace muster;
using namespace bench;

namespace {

constexpr std::uint32_t round_messages = 1024;

/// The sum of what is read, so that nothing read can be left out.
struct Sum {
  std::uint64_t targets = 0;
  double amounts = 0;
};

/// Reads a batch of Hit, Push1, Push2 or Push3: 4 bytes to one entity each.
void read(BatchView batch, Sum& sum) {
  const BatchHeader& header = batch.header();
  const std::byte* item = batch.body();
  for (std::uint32_t i = 0; i < header.count; ++i, item += header.item_bytes) {
    Entity target;
    float amount;
    std::memcpy(&target, item, sizeof target);
    std::memcpy(&amount, item + header.payload_offset, sizeof amount);
    sum.targets += target.index;
    sum.amounts += static_cast<double>(amount);
  }
}

void drain(Arena& arena, Sum& sum) {
  while (!arena.empty()) {
    read(arena.front(), sum);
    arena.pop_front();
  }
}

// --- the limit of batches of one message each: the same bytes, written by hand into memory that is large enough ---

template <class M>
std::byte* put_by_hand(std::byte* at, Entity target, const M& message) {
  const BatchHeader header{.bytes = 48,
                           .type = TypeTraits<M>::id,
                           .kind = BatchKind::each,
                           .payload_offset = 8,
                           .count = 1,
                           .payload_bytes = 4,
                           .item_bytes = 16};
  std::memcpy(at, &header, sizeof header);
  std::memcpy(at + 32, &target, 8);
  std::memcpy(at + 40, &message, 4);
  std::memset(at + 44, 0, 4);
  return at + 48;
}

/// Which of `types` types each message is of: in turn, or at random.
std::vector<std::uint8_t> choices(std::uint32_t types, bool random) {
  std::vector<std::uint8_t> made(round_messages);
  std::mt19937 generator(3);
  for (std::uint32_t i = 0; i < round_messages; ++i)
    made[i] = static_cast<std::uint8_t>(random ? generator() % types : i % types);
  return made;
}

void alternating_limit(benchmark::State& state) {
  std::vector<std::byte> memory(round_messages * 48 + 64);
  Sum sum;
  for (auto _ : state) {
    std::byte* write = memory.data();
    for (std::uint32_t i = 0; i < round_messages; i += 2) {
      write = put_by_hand(write, Entity{i, 1}, Hit{1});
      write = put_by_hand(write, Entity{i, 1}, Push1{1});
    }
    benchmark::ClobberMemory();
    for (const std::byte* at = memory.data(); at < write; at += BatchView(at).header().bytes) read(BatchView(at), sum);
  }
  benchmark::DoNotOptimize(sum);
  items(state, round_messages);
}
BENCHMARK(alternating_limit)->Name("queue_alternating/limit");

void alternating(benchmark::State& state) {
  Arena arena;
  Sum sum;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < round_messages; i += 2) {
      arena.append(Entity{i, 1}, Hit{1});
      arena.append(Entity{i, 1}, Push1{1});
    }
    drain(arena, sum);
  }
  benchmark::DoNotOptimize(sum);
  items(state, round_messages);
}
BENCHMARK(alternating)->Name("queue_alternating/muster");

/// One message at a time: the way of a push.
void one_by_one(benchmark::State& state) {
  Arena arena;
  Sum sum;
  for (auto _ : state)
    for (std::uint32_t i = 0; i < round_messages; ++i) {
      arena.append(Entity{i, 1}, Hit{1});
      read(arena.front(), sum);
      arena.pop_front();
    }
  benchmark::DoNotOptimize(sum);
  items(state, round_messages);
}
BENCHMARK(one_by_one)->Name("queue_alternating/one_by_one");

void mixed_limit(benchmark::State& state) {
  const auto types = choices(4, true);
  std::vector<std::byte> memory(round_messages * 48 + 64);
  Sum sum;
  for (auto _ : state) {
    std::byte* write = memory.data();
    for (std::uint32_t i = 0; i < round_messages; ++i) switch (types[i]) {
        case 0: write = put_by_hand(write, Entity{i, 1}, Hit{1}); break;
        case 1: write = put_by_hand(write, Entity{i, 1}, Push1{1}); break;
        case 2: write = put_by_hand(write, Entity{i, 1}, Push2{1}); break;
        default: write = put_by_hand(write, Entity{i, 1}, Push3{1}); break;
      }
    benchmark::ClobberMemory();
    for (const std::byte* at = memory.data(); at < write; at += BatchView(at).header().bytes) read(BatchView(at), sum);
  }
  benchmark::DoNotOptimize(sum);
  items(state, round_messages);
}
BENCHMARK(mixed_limit)->Name("queue_mixed/limit");

void mixed(benchmark::State& state) {
  const auto types = choices(4, true);
  Arena arena;
  Sum sum;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < round_messages; ++i) switch (types[i]) {
        case 0: arena.append(Entity{i, 1}, Hit{1}); break;
        case 1: arena.append(Entity{i, 1}, Push1{1}); break;
        case 2: arena.append(Entity{i, 1}, Push2{1}); break;
        default: arena.append(Entity{i, 1}, Push3{1}); break;
      }
    drain(arena, sum);
  }
  benchmark::DoNotOptimize(sum);
  items(state, round_messages);
}
BENCHMARK(mixed)->Name("queue_mixed/muster");

// --- while the open batch fits ---

struct Record {
  Entity target;
  Hit message;
  std::uint32_t pad;
};

void append_limit(benchmark::State& state) {
  std::vector<Record> queue(round_messages);
  for (auto _ : state) {
    Record* write = queue.data();
    for (std::uint32_t i = 0; i < round_messages; ++i) {
      *write++ = {Entity{i, 1}, Hit{1}, 0};
      benchmark::ClobberMemory();  // one by one, as appends come
    }
  }
  items(state, round_messages);
}
BENCHMARK(append_limit)->Name("append_struct/limit");

template <class Append>
void append_each(benchmark::State& state, Append append) {
  Arena arena;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < round_messages; ++i) {
      append(arena, Entity{i, 1});
      benchmark::ClobberMemory();
    }
    arena.clear();
  }
  items(state, round_messages);
}
void append_struct(benchmark::State& state) {
  append_each(state, [](Arena& arena, Entity target) { arena.append(target, Hit{1}); });
}
BENCHMARK(append_struct)->Name("append_struct/muster");

/// The type is known at run time only.
void append_shape(benchmark::State& state) {
  PayloadShape shape = PayloadShape::of<Hit>();
  benchmark::DoNotOptimize(shape);
  append_each(state, [&](Arena& arena, Entity target) {
    const Hit hit{1};
    std::memcpy(arena.append(shape, target), &hit, sizeof hit);
  });
}
BENCHMARK(append_shape)->Name("append_struct/shape");

struct RowRecord {
  Entity target;
  Set set;
  std::byte pad[7];
  Mass mass;
  Position position;
  std::uint32_t unused;
};

void append_rows_limit(benchmark::State& state) {
  std::vector<RowRecord> queue(round_messages);
  for (auto _ : state) {
    RowRecord* write = queue.data();
    for (std::uint32_t i = 0; i < round_messages; ++i) {
      *write++ = {Entity{i, 1}, Set{}, {}, Mass{1, 2}, Position{1, 2, 3, 4}, 0};
      benchmark::ClobberMemory();
    }
  }
  items(state, round_messages);
}
BENCHMARK(append_rows_limit)->Name("append_rows/limit");

void append_rows(benchmark::State& state) {
  append_each(state,
              [](Arena& arena, Entity target) { arena.append_rows(target, Set{}, Mass{1, 2}, Position{1, 2, 3, 4}); });
}
BENCHMARK(append_rows)->Name("append_rows/muster");

void append_rows_run_time(benchmark::State& state) {
  const RowSet rows(PayloadShape::of<Set>(),
                    std::vector<PayloadShape>{{TypeTraits<Mass>::id, sizeof(Mass), alignof(Mass)},
                                              {TypeTraits<Position>::id, sizeof(Position), alignof(Position)}});
  const std::uint32_t mass_at = rows.offset(TypeTraits<Mass>::id), position_at = rows.offset(TypeTraits<Position>::id);
  append_each(state, [&](Arena& arena, Entity target) {
    std::byte* const payload = arena.append_rows(rows, target);
    const Mass mass{1, 2};
    const Position position{1, 2, 3, 4};
    std::memcpy(payload + mass_at, &mass, sizeof mass);
    std::memcpy(payload + position_at, &position, sizeof position);
  });
}
BENCHMARK(append_rows_run_time)->Name("append_rows/run_time");

}  // namespace
