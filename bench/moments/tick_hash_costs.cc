// Measures the cost of a log of hashes (server/world/replay/tick_hashes.h) for the ticks.
//
//   tick_hash_costs [ENTITIES [TICKS]]        20000 entities, 2000 ticks
//
// Every tick moves a tenth or all of the entities. Prints the processor time of the tick's
// thread: without hashes, with a plain loop that hashes the changed columns, and with the log.
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "registry/host.h"
#include "schema/scene.h"
#include "server/world/replay/tick_hashes.h"

namespace {

double thread_us() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct HashedGame {
  HashedGame(std::uint32_t entities, bool all_move) {
    handlers.add(registry.subscribe("move", [](const muster::Update& tick, scene::Transform& at) {
      at.position.x += tick.dt;
      at.rotation.y += tick.dt * 0.1f;
    }));
    const std::uint32_t moving = all_move ? entities : entities / 10;
    registry.create_many(moving, scene::Transform{});
    registry.create_many(entities - moving, scene::Light{});
  }
  muster::EntityRegistry registry;
  muster::Handlers handlers;
};

/// Returns the time of a tick in us.
double time_of(std::uint32_t entities, bool all_move, long ticks,
               const std::function<std::function<void()>(muster::EntityRegistry&)>& begin) {
  HashedGame game(entities, all_move);
  const std::function<void()> after = begin(game.registry);
  const double start = thread_us();
  for (long i = 0; i < ticks; ++i) {
    game.registry.push(muster::Update{.dt = 1.0f / 60});
    after();
  }
  return (thread_us() - start) / static_cast<double>(ticks);
}

/// Hashes the columns that were changed after the version.
std::uint64_t hash_changed(const muster::Storage& storage, std::uint64_t since) {
  std::uint64_t sum = 0;
  for (std::uint32_t number = 0; number < storage.chunk_numbers(); ++number) {
    const muster::Chunk* const chunk = storage.chunk(number);
    if (!chunk) continue;
    for (std::uint32_t slot = muster::column_first; slot < chunk->archetype->pod_slots; ++slot)
      if (const muster::ColumnSlot& column = chunk->slots()[slot]; column.data && column.version > since)
        sum += XXH3_64bits(column.data, std::size_t{chunk->count} * chunk->archetype->slot_bytes[slot]);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) { return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  const auto entities = static_cast<std::uint32_t>(std::clamp(number(1, 20'000), 100l, 4'000'000l));
  const long ticks = std::clamp(number(2, 2000), 8l, 1'000'000l);
  std::string path = "/tmp/muster-hashes-XXXXXX";
  const int made = ::mkstemp(path.data());
  if (made < 0) return 1;
  ::close(made);
  for (const bool all_move : {false, true}) {
    const double bare = time_of(entities, all_move, ticks, [](muster::EntityRegistry&) { return [] {}; });
    std::uint64_t sum = 0;
    const double loop = time_of(entities, all_move, ticks, [&](muster::EntityRegistry& registry) {
      return [&sum, &registry, since = registry.host().begin_version()]() mutable {
        sum += hash_changed(registry.host().storage(), since);
        since = registry.host().begin_version();
      };
    });
    const double logged = time_of(entities, all_move, ticks, [&](muster::EntityRegistry& registry) {
      auto log = std::make_shared<muster::TickHashLog>(registry, path);
      return [log, tick = std::uint64_t{0}]() mutable { log->made_tick(++tick); };
    });
    std::printf("%u entities, %s move\n", entities, all_move ? "all" : "a tenth");
    std::printf("  tick                        %9.1f us\n", bare);
    std::printf("  tick, and a plain loop      %9.1f us  (%llx)\n", loop, static_cast<unsigned long long>(sum));
    std::printf("  tick, and the log           %9.1f us  ratio %.2f\n", logged, logged / loop);
  }
  ::unlink(path.c_str());
}
