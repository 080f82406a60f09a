// A run never changes the level, and the level comes back exactly.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "registry/state/state_format.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/server/world/run_sql.h"
#include "tests/support/faulty_disk.h"

namespace muster::play_test {
namespace {

using namespace muster::test;

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  return {registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          registry.subscribe("tick", [](const game::Ping& ping, const game::Health& health, Entity self, Outbox& out,
                                        Spawner& spawner) {
            if (static_cast<std::uint32_t>(health.value < 0 ? -health.value : health.value) % 16 == ping.hops % 16)
              spawner.create_under(self, "child", game::Armor{.factor = health.value});
            if (health.value < -50) out.destroy(self);
          })};
}

WorldOptions options(Durability durability = Durability::each_flush) {
  return {.hz = 20'000, .code = "game 1", .durability = durability, .autosave = {}};
}

/// All rows of a state except for the sequence, which goes on.
struct Rows final : StateSink {
  bool has(const StateKey&, std::uint64_t) override { return false; }
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    std::string& row = rows[key];
    row.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (key.section == StateSection::registry) std::memset(row.data() + offsetof(RegistryRow, sequence), 0, 8);
  }
  std::map<StateKey, std::string> rows;
};
std::map<StateKey, std::string> rows_of(const EntityRegistry& registry) {
  Rows rows;
  registry.save(rows);
  return rows.rows;
}

/// A world with a level that edits and ticks have made.
struct Played {
  explicit Played(const std::string& path, WorldOptions with = options()) : world(path, install, std::move(with)) {
    if (!world.is_new()) return;
    EntityRegistry& r = world.registry();
    for (int i = 0; i < 20; ++i)
      r.create("e" + std::to_string(i), game::Health{.value = static_cast<float>(i * 7)}).or_stop();
    world.save();
    for (int i = 0; i < 50; ++i) tick();
  }
  /// Makes a tick with edits of two users, drawn by `random`.
  void tick() {
    const Frame frame = world.next_frame();
    REQUIRE(frame);
    EntityRegistry& r = world.registry();
    r.push(game::Ping{.hops = static_cast<std::uint32_t>(random() % 100)});
    for (int i = 0; i < 3; ++i) edit();
  }
  void edit() {
    EntityRegistry& r = world.registry();
    const std::uint64_t user = 1 + random() % 2;
    const Sender by{.session = 10 + user, .user = user, .request = ++requests};
    const Entity e = r.find_path("/e" + std::to_string(random() % 20));
    if (!e) return;
    BatchBuilder batch;
    switch (random() % 8) {
      case 0: batch.append_rows(e, Set{}, game::Armor{.factor = static_cast<float>(random() % 9)}); break;
      case 1: batch.append(e, Remove{.component = TypeTraits<game::Armor>::id}); break;
      case 2: batch.append(e, Destroy{}); break;
      case 3: world.history().apply(HistoryAct::undo, by, Conflicts::skip, false); return;
      case 4: world.history().apply(HistoryAct::redo, by, Conflicts::skip, false); return;
      default: batch.append_rows(e, Set{}, game::Health{.value = static_cast<float>(random() % 200)}); break;
    }
    r.host().push_batch(batch.bytes(), by);
  }
  std::vector<std::string> history() {
    std::vector<std::string> all;
    for (const EditHistory::Saved& step : world.history().all())
      all.push_back(std::to_string(step.number) + " " +
                    std::string(reinterpret_cast<const char*>(step.bytes.data()), step.bytes.size()));
    return all;
  }
  World world;
  std::mt19937_64 random{7};
  std::uint64_t requests = 0;
};

}  // namespace

TEST_CASE("after any number of plays and stops, the level is what it was") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Played played(path);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const auto level = rows_of(played.world.registry());
    const auto history = played.history();
    const std::uint64_t tick = played.world.tick(), epoch = played.world.epoch();
    const std::uint64_t sequence = played.world.registry().sequence();
    REQUIRE(played.world.play());
    CHECK(played.world.run()->sequence == sequence);
    CHECK(played.world.epoch() != epoch);
    CHECK(played.world.history().all().empty());
    for (int i = 0; i < 30; ++i) {
      played.tick();
      if (i % 10 == 3) (void)played.world.begin_save([](const auto& saved) { CHECK(saved); });
      if (i % 10 == 7) played.world.save();
    }
    CHECK(rows_of(played.world.registry()) != level);
    REQUIRE(played.world.stop_playing());
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(played.history() == history);
    CHECK(played.world.tick() == tick);
    CHECK(played.world.registry().sequence() > sequence);
    for (int i = 0; i < round % 3; ++i) played.tick();  // the level is edited, too
  }
  // Nothing of the runs stays in the file but their steps.
  played.world.save();
  CHECK(run_sql(path, "SELECT count(*) FROM (SELECT 1 FROM state GROUP BY section, key, column_ HAVING count(*) > 1)") ==
        "0\n");
}

TEST_CASE("a run continues after a restart, and ends at its level") {
  for (const bool killed : {false, true}) {
    CAPTURE(killed);
    const Directory directory;
    const std::string path = directory / "w.muster";
    std::map<StateKey, std::string> level, run;
    std::vector<std::string> history, run_history;
    {
      auto played = std::make_unique<Played>(path);
      level = rows_of(played->world.registry());
      history = played->history();
      REQUIRE(played->world.play());
      for (int i = 0; i < 20; ++i) played->tick();
      played->world.save();
      for (int i = 0; i < 20; ++i) played->tick();
      run = rows_of(played->world.registry());
      run_history = played->history();
    }
    {
      Played played(path);
      REQUIRE(played.world.run());
      CHECK(rows_of(played.world.registry()) == run);
      CHECK(played.history() == run_history);
      for (int i = 0; i < 10; ++i) played.tick();
      if (killed) played.world.save();
      REQUIRE(played.world.stop_playing());
      CHECK(rows_of(played.world.registry()) == level);
      CHECK(played.history() == history);
    }
    Played played(path);
    CHECK(!played.world.run());
    CHECK(rows_of(played.world.registry()) == level);
    CHECK(played.history() == history);
  }
}

TEST_CASE("a world that is opened as a level ends its run and is paused") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::map<StateKey, std::string> level;
  {
    Played played(path);
    level = rows_of(played.world.registry());
    REQUIRE(played.world.play());
    for (int i = 0; i < 20; ++i) played.tick();
  }
  WorldOptions as_level = options();
  as_level.level = true;
  Played played(path, as_level);
  CHECK(!played.world.run());
  CHECK(played.world.pace().paused);
  CHECK(rows_of(played.world.registry()) == level);
  REQUIRE(played.world.play());
  CHECK(!played.world.pace().paused);
  played.tick();
  REQUIRE(played.world.stop_playing());
  CHECK(played.world.pace().paused);
}

TEST_CASE("a run cannot begin twice or end twice") {
  const Directory directory;
  Played played(directory / "w.muster");
  CHECK(played.world.stop_playing().error().detail() == "no run is on");
  REQUIRE(played.world.play());
  CHECK(played.world.play().error().detail() == "a run is on already");
}

}  // namespace muster::play_test
