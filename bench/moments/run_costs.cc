// The costs of runs and of a long history.
//
//   run_costs run [ENTITIES [ROUNDS]]       1000000 entities, 4 rounds of each kind
//   run_costs history [EDITS [ENTITIES]]    100000 edits of 20000 entities
//
// `run` prints the processor time of the world's thread in play() and stop_playing(), and what
// passes until they return, if the run wrote every row of no, a hundredth and all of the chunks.
// The level was saved before. Beside it: the processor time of the ticks, of which the first one
// copies what changes, and of a memcpy of as many bytes. `history` prints the processor time of an
// undo, and the bytes of the steps in the file. The file is in the working directory.
#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "schema/hash.h"
#include "schema/scene.h"
#include "schema/skirmish.h"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

const char* const path = "run_costs.muster";

double thread_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Spent {
  double processor_ms = 0, passed_ms = 0;
};
template <class F>
Spent spent(F work) {
  const auto begun = Clock::now();
  const double before = thread_ms();
  work();
  return {.processor_ms = thread_ms() - before,
          .passed_ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count()};
}

Handlers install(EntityRegistry& registry) {
  registry.add_type<skirmish::Unit>();
  return {registry.subscribe("move",
                             [](const Update&, scene::Transform& at, const skirmish::March&) { at.position.x += 1; })};
}

void stop_if(bool fails, const char* what) {
  if (!fails) return;
  std::fprintf(stderr, "run_costs: %s\n", what);
  std::exit(1);
}

void remove_world() {
  for (const char* end : {"", "-wal", "-shm", "-lock", "-work"}) std::filesystem::remove(std::string(path) + end);
}

void runs(std::uint32_t entities, long rounds) {
  for (const std::uint32_t share : {0u, entities / 100, entities}) {
    remove_world();

    World world(path, install, {.hz = 1000, .code = "run costs", .autosave = {}});
    EntityRegistry& registry = world.registry();
    if (share > 0) registry.create_many(share, scene::Transform{}, skirmish::Health{}, skirmish::March{});
    if (share < entities)
      registry.create_many(entities - share, scene::Transform{}, skirmish::Health{}, skirmish::Unit{});
    world.save();
    std::printf("%u entities, %u of them move\n", entities, share);
    for (long round = 0; round < rounds; ++round) {
      const Spent play = spent([&] { stop_if(!world.play(), "the run does not begin"); });
      Spent ticks[2];
      for (Spent& tick : ticks) {
        stop_if(!world.next_frame(), "no frame");
        tick = spent([&] { registry.push(Update{.dt = 0.001f}); });
      }
      const Spent stop = spent([&] { stop_if(!world.stop_playing(), "the run does not end"); });
      const std::vector<std::byte> from(std::size_t{share} * sizeof(scene::Transform) + 1);
      std::vector<std::byte> to(from.size());
      const Spent copy = spent([&] { std::memcpy(to.data(), from.data(), from.size()); });
      std::printf("  play %8.2f ms (%8.2f pass)  ticks %8.2f, %8.2f ms  stop %8.2f ms (%8.2f pass)  memcpy %6.2f ms\n",
                  play.processor_ms, play.passed_ms, ticks[0].processor_ms, ticks[1].processor_ms, stop.processor_ms,
                  stop.passed_ms, copy.processor_ms);
      world.save();
    }
  }
  remove_world();
}

std::uint64_t number_of(const char* sql) {
  sqlite3* file = nullptr;
  sqlite3_stmt* statement = nullptr;
  stop_if(sqlite3_open(path, &file) != SQLITE_OK, "the file cannot be read");
  stop_if(sqlite3_prepare_v2(file, sql, -1, &statement, nullptr) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW,
          sql);
  const auto number = static_cast<std::uint64_t>(sqlite3_column_int64(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(file);
  return number;
}

void long_history(std::uint32_t edits, std::uint32_t entities) {
  remove_world();
  std::uint64_t without = 0;
  {
    World world(path, install, {.code = "run costs", .autosave = {}});
    EntityRegistry& registry = world.registry();
    const std::vector<Entity> all = registry.create_many(entities, scene::Transform{}, skirmish::Health{});
    world.save();
    without = std::filesystem::file_size(path);
    Sender by{.session = 5, .user = 1};
    const Spent made = spent([&] {
      for (std::uint32_t i = 0; i < edits; ++i) {
        SetField set{.component = TypeTraits<skirmish::Health>::id, .field = hash32("value"), .bytes = 4};
        const auto value = static_cast<float>(i + 1);
        std::memcpy(set.value.data(), &value, 4);
        BatchBuilder batch;
        batch.append(all[i * 7919 % entities], set);
        ++by.request;
        stop_if(registry.host().push_batch(batch.bytes(), by).refused != 0, "an edit is refused");
      }
    });
    stop_if(world.history().steps(1, HistoryAct::undo) < edits * 9 / 10, "the edits are not in the history");
    std::printf("%u edits of %u entities: %.2f us each\n", edits, entities, made.processor_ms * 1e3 / edits);
    const Spent save = spent([&] { world.save(); });
    std::vector<double> undos;
    for (int i = 0; i < 1000; ++i) {
      const HistoryAct act = i % 3 == 2 ? HistoryAct::redo : HistoryAct::undo;
      ++by.request;
      undos.push_back(spent([&] {
                        stop_if(world.history().apply(act, by, Conflicts::skip, false).done == 0, "no undo");
                      }).processor_ms);
    }
    std::ranges::sort(undos);
    std::printf("  an undo or redo: median %.3f ms, at most %.3f ms; a save of all steps %.0f ms (%.0f pass)\n",
                undos[undos.size() / 2], undos.back(), save.processor_ms, save.passed_ms);
    std::printf("  the limit counts %.1f MB\n", static_cast<double>(world.history().bytes()) / 1e6);
  }
  std::printf("  the steps in the file: %.1f MB of content; the file grew by %.1f MB\n",
              static_cast<double>(number_of("SELECT sum(length(bytes)) FROM history")) / 1e6,
              static_cast<double>(std::filesystem::file_size(path) - without) / 1e6);
  const Spent opened = spent([] { World again(path, install, {.code = "run costs", .autosave = {}}); });
  std::printf("  opening %.0f ms (%.0f pass)\n", opened.processor_ms, opened.passed_ms);
  remove_world();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, long otherwise) { return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  if (what == "run")
    runs(static_cast<std::uint32_t>(std::clamp(number(2, 1'000'000), 1000l, 4'000'000l)),
         std::clamp(number(3, 4), 1l, 1000l));
  else if (what == "history")
    long_history(static_cast<std::uint32_t>(std::clamp(number(2, 100'000), 1000l, 4'000'000l)),
                 static_cast<std::uint32_t>(std::clamp(number(3, 20'000), 10l, 4'000'000l)));
  else
    stop_if(true, "say `run` or `history`");
}
