// A world that ticks and edits change, for tests of runs and of past states.
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "registry/state/state_format.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/support/faulty_disk.h"

namespace muster::play_test {
using test::Directory;
using test::FaultyDisk;

inline Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  registry.add_type<game::Armor>();
  registry.add_type<game::Position>();
  return {registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          registry.subscribe("tick", [](const game::Ping& ping, const game::Health& health, Entity self, Outbox& out,
                                        Spawner& spawner) {
            if (static_cast<std::uint32_t>(health.value < 0 ? -health.value : health.value) % 16 == ping.hops % 16)
              spawner.create_under(self, "child", game::Armor{.factor = health.value});
            if (health.value < -50) out.destroy(self);
          })};
}

inline WorldOptions options(Durability durability = Durability::each_flush) {
  return {.hz = 20'000, .code = "game 1", .durability = durability, .autosave = {}};
}

/// Worlds of this process use it while this lives.
struct FailingDisk {
  FailingDisk() { sqlite3_vfs_register(sqlite3_vfs_find("faulty-playing"), 1); }
  ~FailingDisk() { sqlite3_vfs_register(usual, 1); }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  FaultyDisk disk{"faulty-playing"};
};

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
inline std::map<StateKey, std::string> rows_of(const EntityRegistry& registry) {
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

}  // namespace muster::play_test
