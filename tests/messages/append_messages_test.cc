// Batches of several writers, appended to one as if it had been given their messages itself.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "tests/messages/test_types.h"

namespace append_messages_test {

using namespace muster;
using namespace ::test;

namespace {

using Random = std::mt19937;

/// Some message of any kind, mostly the one before: batches are extended.
void append_some(BatchWriter& to, std::uint32_t seed, const std::vector<std::byte>& table, BatchView inner) {
  const Entity target{seed % 50 + 1, 1};
  const std::vector<Entity> targets(seed % 7, target);
  switch (seed / 1000 % 10) {
    case 0:
    case 1:
    case 2: return to.append(target, Damage{.amount = static_cast<float>(seed), .kind = seed, .from = target});
    case 3: return to.append(target, Wide{.low = seed, .high = 2});
    case 4: return to.append_world(Tick{.dt = static_cast<double>(seed)});
    case 5: return to.append_subtree(target, 1 + seed % 2, Nudge{.x = static_cast<float>(seed), .y = 0, .z = 0});
    case 6: return to.append_shared(targets, Damage{.kind = seed});
    case 7:
      if (seed % 3 == 0) return to.append_rows(target, Make{.parent = target}, Health{}, Matrix{});
      return to.append_rows(target, Make{.parent = target}, Health{.value = static_cast<float>(seed)});
    case 8: return to.append_table(TypeTraits<Say>::id, target, table, seed % 2);
    default: return to.append_timed(seed, seed + 1, inner);
  }
}

std::vector<std::byte> bytes_of(const Arena& arena, std::vector<std::uint32_t>& counts) {
  std::vector<std::byte> all;
  arena.for_each([&](BatchView batch) {
    counts.push_back(batch.count());
    all.insert(all.end(), batch.bytes().begin(), batch.bytes().end());
  });
  return all;
}

}  // namespace

TEST_CASE(
    "what other writers were given is appended to the byte as if it had been given here, batches ending where they "
    "would") {
  Say say;
  say.text = "hello";
  const std::vector<std::byte> table = encode(say);
  BatchBuilder inner;
  inner.append(Entity{1, 1}, Nudge{});
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Arena direct(1024), merged(1024);
    for (Arena* arena : {&direct, &merged}) {
      arena->set_causes(seed % 3 == 0);
      arena->set_cause(seed);
      arena->append_world(Tick{});  // an open batch that is there already
    }
    std::uint32_t kind = 0;
    for (int part = 0; part < 6; ++part) {
      Arena worker(seed % 2 ? 1024 : 65536);
      worker.set_causes(seed % 3 == 0);
      worker.set_cause(seed);
      for (std::uint32_t i = 0; i < random() % 60; ++i) {
        if (random() % 4 == 0) kind = static_cast<std::uint32_t>(random() % 10);
        const std::uint32_t one = kind * 1000 + static_cast<std::uint32_t>(random() % 1000);
        append_some(direct, one, table, inner.front());
        append_some(worker, one, table, inner.front());
      }
      worker.seal();
      worker.for_each([&](BatchView batch) { merged.append_messages(batch); });
    }
    std::vector<std::uint32_t> counts, others;
    REQUIRE(bytes_of(direct, counts) == bytes_of(merged, others));
    REQUIRE(counts == others);
    REQUIRE(direct.batches() == merged.batches());
    // And both go on in the same way.
    direct.append(Entity{1, 1}, Damage{});
    merged.append(Entity{1, 1}, Damage{});
    REQUIRE(direct.batches() == merged.batches());
  }
}

}  // namespace append_messages_test
