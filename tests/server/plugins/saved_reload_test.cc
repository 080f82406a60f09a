// A plugin is loaded again while a save is under way: the save has the state of the moment in which it was begun, and what was durable stays.
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/plugins/plugins.h"
#include "server/world/world.h"
#include "tests/server/plugins/counter.h"
#include "tests/server/plugins/folder.h"
#include "tests/server/world/run_sql.h"
#include "tests/server/world/write_lock.h"

using namespace muster;
using muster::testing::PluginFolder;

namespace {

using Report = std::expected<CheckpointReport, WorldError>;
constexpr std::uint64_t its_session = 5;

/// A world and its plugin, as muster-server has them.
struct Life {
  Life(const PluginFolder& folder, const std::string& path) {
    plugins.load(folder.path("counter.so"));
    world.emplace(
        path, [this](EntityRegistry& registry) { return plugins.install(registry); },
        WorldOptions{.code = plugins.code("test"), .durability = Durability::each_flush, .autosave = {}});
    if (world->is_new()) {
      plugins.begin(registry());
      world->save();
    }
  }
  EntityRegistry& registry() { return world->registry(); }
  void frame() {
    world->stop();
    (void)world->next_frame();
  }
  /// What a session creates: `count` that count from `value` on.
  Entity create(int value, std::uint32_t count) {
    const Entity first = registry().host().grant(count, its_session);
    BatchBuilder builder;
    for (std::uint32_t i = 0; i < count; ++i)
      builder.append_rows(Entity{first.index + i, first.generation}, Create{},
                          counter::Count{.value = value + static_cast<int>(i)});
    registry().host().push_batch(builder.bytes(), {.session = its_session, .user = 1, .request = 1});
    return first;
  }
  void step() { registry().push(registry().find_path("/counter"), counter::Step{}); }
  template <class Until>
  void wait(Until until) {
    for (int i = 0; i < 200'000 && !until(); ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    REQUIRE(until());
  }
  std::expected<void, std::string> reload(bool of_other_layout) {
    std::vector<std::string> opened_again;
    world->set_code(plugins.code("test"));
    const auto done = plugins.reload(registry(), {}, of_other_layout ? &opened_again : nullptr);
    if (!done) return std::unexpected(done.error());
    if (opened_again.empty()) world->set_code(plugins.code("test"));
    return {};
  }

  Plugins plugins;  // goes after the world
  std::optional<World> world;
};

/// What a loss of power leaves now.
std::string crashed(const std::string& path) {
  const std::string copy = path + ".crashed";
  for (const char* part : {"", "-wal", "-shm", "-lock", "-work"}) std::filesystem::remove(copy + part);
  for (const char* part : {"", "-wal"}) std::filesystem::copy_file(path + part, copy + part);
  return copy;
}

/// What sessions created, and when that was told.
struct SentEdit {
  Entity first;
  std::uint32_t count;
  int value;
  std::uint64_t sequence;
};

void check(Life& life, const std::vector<SentEdit>& edits, std::uint64_t durable) {
  REQUIRE(life.registry().sequence() >= durable);
  for (const SentEdit& edit : edits) {
    if (edit.sequence > durable) continue;
    for (std::uint32_t i = 0; i < edit.count; ++i) {
      const auto* count = life.registry().find<counter::Count>(Entity{edit.first.index + i, edit.first.generation});
      if (!count || count->value != edit.value + static_cast<int>(i)) FAIL("of edit " << edit.sequence << ", " << i);
    }
  }
}

struct Reload {
  const char* build;
  bool succeeds;
  bool exact = false;            // the handlers that there were are still there
  bool of_other_layout = false;  // ... because the world would have to be opened again
};

}  // namespace

TEST_CASE(
    "a plugin that is loaded again, or refused, while a save is under way takes nothing from the save or the journal",
    "[reload]") {
  const Reload reload = GENERATE(Reload{"counter_second", true}, Reload{"refuses_sums", false},
                                 Reload{"counter_narrower", false, true}, Reload{"counter_wider", true, true, true});
  CAPTURE(reload.build);
  PluginFolder folder, first, next;
  first.put("counter", "counter_first");
  next.put("counter", "counter_second");
  const test::Folder disk(test::memory_disk());
  const std::string path = disk / "w.muster";
  std::vector<SentEdit> edits;
  for (const std::uint32_t before : {0u, 3u}) {
    for (const std::uint32_t after : {0u, 3u}) {
      CAPTURE(before, after);
      folder.put("counter", "counter_first");
      for (const char* part : {"", "-wal", "-shm", "-lock", "-work"}) std::filesystem::remove(path + part);
      edits.clear();
      Life life(folder, path);
      const auto edit = [&](std::uint32_t times) {
        for (std::uint32_t i = 0; i < times; ++i) {
          const int value = static_cast<int>(1000 * edits.size());
          const std::uint32_t count = 700;  // more than fit a chunk, soon
          edits.push_back({life.create(value, count), count, value, 0});
          edits.back().sequence = life.registry().sequence();
          life.step();
        }
      };
      edit(4);
      life.world->save();
      edit(2);
      life.wait([&] { return life.world->durable_sequence() == life.registry().sequence(); });
      std::optional<Report> told;
      std::uint64_t begun = 0;
      {
        const test::WriteLock nothing_is_written(path);
        edit(before);
        begun = life.registry().hash();
        REQUIRE(life.world->begin_save([&](Report report) { told = std::move(report); }));
        life.step();  // a column that is to be kept
        folder.put("counter", reload.build);
        REQUIRE(life.reload(reload.of_other_layout).has_value() == reload.succeeds);
        REQUIRE_FALSE(told.has_value());
        edit(after);
        // A loss of power now.
        const std::uint64_t durable = life.world->durable_sequence();
        Life again(first, crashed(path));
        REQUIRE(again.world->recovery_report().exact());
        check(again, edits, durable);
      }
      life.wait([&] { return told.has_value(); });
      if (!*told) {  // the machine stood for two seconds
        REQUIRE(told->error().code() == WorldErrorCode::in_use);
        life.world->save();
      }
      life.wait([&] { return life.world->durable_sequence() == life.registry().sequence(); });
      const std::uint64_t hash = life.registry().hash(), sequence = life.registry().sequence();
      {
        // One after the save, by the builds that there were: the save has the state of its moment, the journal what came then.
        const bool same = reload.exact || !reload.succeeds;
        Life again(same ? first : next, crashed(path));
        check(again, edits, sequence);
        if (reload.exact) {
          CHECK(again.world->recovery_report().exact());
          CHECK(again.registry().hash() == hash);
        }
        CHECK(again.registry().sequence() == sequence);
      }
      {
        // The save alone, by the build that there was when it was begun.
        const std::string copy = crashed(path);
        test::run_sql(copy, "DELETE FROM journal");
        Life again(first, copy);
        CHECK(again.registry().hash() == begun);
      }
      life.world->save();
      life.world.reset();
      Life again(reload.succeeds && !reload.exact ? next : first, path);
      CHECK(again.registry().hash() == hash);
      check(again, edits, sequence);
    }
  }
}
