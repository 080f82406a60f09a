// A game whose inputs a recorder writes down, for tests of the journal: pings go on, spawns make children.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/world/journal/journal_recorder.h"
#include "tests/model/state_rows.h"
#include "tests/registry/game.h"

namespace muster::test {

struct RecordedGame {
  static constexpr const char* code = "game 1";

  explicit RecordedGame(RegistryOptions options = {}) : registry(options) {
    registry.add_type<game::Health>();
    registry.add_type<game::Damage>();
    handlers.push_back(
        registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }));
    handlers.push_back(
        registry.subscribe("bounce", [](const game::Ping& ping, game::Health& health, Entity self, Outbox& out) {
          health.value += 1;
          if (ping.hops > 0) out.post(self, game::Ping{.hops = ping.hops - 1});
        }));
    handlers.push_back(
        registry.subscribe("spawn", [](const game::Spawn& spawn, const game::Health&, Entity self, Spawner& spawner) {
          for (std::uint32_t i = 0; i < spawn.children; ++i)
            spawner.create_under(self, "child", game::Health{.value = 3});
        }));
  }
  ~RecordedGame() {
    if (recorder) registry.host().remove_sink(*recorder);
  }
  RecordedGame(const RecordedGame&) = delete;
  RecordedGame& operator=(const RecordedGame&) = delete;

  void record(std::size_t group_bytes = 1u << 20, std::uint64_t tick = 0, SpareRecords* spare = nullptr) {
    recorder.emplace(registry, JournalRecorder::Start{
                                   .code = code, .epoch = 7, .tick = tick, .spare = spare, .group_bytes = group_bytes});
    registry.host().add_sink(*recorder);
  }
  /// What the journal has so far, numbered as a file numbers it.
  const std::vector<JournalGroup>& journal() {
    for (JournalGroup& group : recorder->take()) {
      group.id = groups.size() + 1;
      groups.push_back(std::move(group));
    }
    return groups;
  }
  void load(const naive::StateRows& rows) {
    naive::RowsSource source(rows);
    const auto loaded = registry.load(source);
    if (!loaded) std::abort();
  }

  EntityRegistry registry;
  std::vector<Subscription> handlers;
  std::optional<JournalRecorder> recorder;
  std::vector<JournalGroup> groups;
};

}  // namespace muster::test
