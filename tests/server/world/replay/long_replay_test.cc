// A long journal with edits of sessions replays to one hash, on one worker and on two.
#include <catch2/catch.hpp>
#include <random>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/replay/replay.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace long_replay_test {

using namespace muster;

namespace {

Handlers install(EntityRegistry& r) {
  Handlers own;
  own.add(r.subscribe(
      "move", [](const Update& now, game::Position& at, const game::Velocity& v) { at.at.x += v.by.x * now.dt; }));
  own.add(r.subscribe("hurt", [](const game::Damage& hit, game::Health& health, Entity self, Outbox& out) {
    health.value -= hit.amount;
    if (health.value < 90) out.post_after(50'000'000, self, game::Heal{.amount = 9});
  }));
  own.add(r.subscribe("heal", [](const game::Heal& heal, game::Health& health, Spawner& spawner) {
    health.value += heal.amount;
    spawner.create(game::Count{});
  }));
  own.add(r.subscribe("age", [](const Update&, game::Count& count, Entity self, Outbox& out) {
    if (++count.hits > 40) out.destroy(self);
  }));
  return own;
}

/// Makes ticks and edits, and returns the hash at the end.
std::uint64_t record(const std::string& path, std::uint64_t ticks) {
  World world(
      path, install,
      {.hz = 1'000'000, .code = "game 1", .durability = Durability::batched, .autosave = {}, .journal_bytes_max = 0});
  EntityRegistry& r = world.registry();
  const std::vector<Entity> all =
      r.create_many(2000, game::Health{.value = 100}, game::Position{}, game::Velocity{.by = {1, 0, 0}});
  world.save();
  std::mt19937 random(7);
  const Sender editor{.session = 11, .user = 3};
  std::uint64_t edits = 0;
  while (world.tick() < ticks) {
    REQUIRE(world.next_frame());
    r.push(Update{.dt = 1.f / 60});
    const Entity hit = all[random() % all.size()];  // drawn first, whatever the compiler
    r.push(hit, game::Damage{.amount = static_cast<float>(random() % 30)});
    if (random() % 5 != 0) continue;
    ++edits;
    const Entity one = all[random() % all.size()], other = all[random() % all.size()];
    BatchBuilder batch;
    switch (random() % 4) {
      case 0: batch.append(one, Destroy{}); break;
      case 1: batch.append(one, Reparent{.parent = other}); break;
      case 2: batch.append(one, game::Damage{.amount = 1}); break;
      default: (void)world.history().apply(HistoryAct::undo, editor, Conflicts::overwrite, false); continue;
    }
    r.host().push_batch(batch.bytes(), editor);
  }
  CHECK(edits > ticks / 10);
  return r.hash();
}

}  // namespace

TEST_CASE("60,000 ticks with edits replay to one hash with any number of workers") {
  constexpr std::uint64_t ticks = 60'000;
  const test::Folder folder(test::memory_disk());
  const std::uint64_t hash = record(folder / "w.muster", ticks);
  // The same with every compiler, with every optimization, and with sanitizers.
  CHECK(hash == 0x2124ba9251b3b4ce);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  for (const std::uint32_t workers : {1u, 2u}) {
    const auto report = replay("w.muster", *slice, install, {.code = "game 1", .workers = workers});
    INFO((report ? "" : report.error().what()));
    REQUIRE(report);
    CHECK(report->ticks == ticks);
    CHECK(report->hash == hash);
  }
}

}  // namespace long_replay_test
