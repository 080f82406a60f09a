// A registry with a file and what saves it, by a clock that the test plays.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/world/saving/saver.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/run_sql.h"

namespace muster::test {

struct Saved {
  Saved(Durability durability, std::chrono::nanoseconds autosave, std::uint64_t journal_bytes_max = 0,
        std::uint64_t preserved_bytes_max = 256u << 20, WorldFileOptions of_file = {},
        DiskLags disk_lags = DiskLags::wait, std::size_t waiting_bytes_max = WriteQueue::bytes_max_default)
      : file(WorldFile::open(directory / "w.muster", std::move(of_file)).value()),
        saver(file, registry,
              {.stamp =
                   [this] {
                     return CheckpointStamp{.sequence = registry.sequence(),
                                            .tick = 5,
                                            .code = "code",
                                            .types_fingerprint = registry.types().fingerprint(),
                                            .types = registry.types().types()};
                   },
               .wake = [this] { ++wakes; },
               .durability = durability,
               .epoch = 3,
               .autosave = autosave,
               .journal_bytes_max = journal_bytes_max,
               .preserved_bytes_max = preserved_bytes_max,
               .disk_lags = disk_lags,
               .waiting_bytes_max = waiting_bytes_max,
               .warn = [this](const std::string& what) { warnings.push_back(what); }}) {
    registry.add_type<game::Health>();
    unit = registry.create(game::Health{});
    saver.opened();
  }
  void push() { registry.push(unit, game::Damage{}); }
  void first_save() { REQUIRE(saver.save()); }
  /// Until it is so; the queue has a thread of its own.
  template <class F>
  void wait(F&& until) {
    for (int i = 0; i < 50'000 && !until(); ++i) {
      saver.look();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    REQUIRE(until());
  }
  /// What was pushed goes to the queue at once: with the work before it done, though told of, the queue may be busy for a moment yet.
  void write_due_idle(Saver::Clock::time_point now) {
    wait([&] { return saver.due().has_value(); });
    saver.write_due(now);
  }
  void wait_durable() {
    wait([&] { return saver.durable() == registry.sequence(); });
  }
  /// Another program writes to the file.
  void edit(const char* sql) const { run_sql(directory / "w.muster", sql); }
  const Directory directory;
  EntityRegistry registry;
  Entity unit;
  std::atomic<int> wakes = 0;
  std::vector<std::string> warnings;
  WorldFile file;
  Saver saver;
};

}  // namespace muster::test
