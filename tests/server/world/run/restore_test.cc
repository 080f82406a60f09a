// A world returns to every state that its file still contains, and to no other one.
#include <filesystem>

#include "schema/hash.h"
#include "tests/server/world/run/played_world.h"
#include "tests/server/world/run_sql.h"
#include "tests/support/seeds.h"

namespace muster::play_test {

using test::run_sql;
namespace {

WorldOptions keeping(std::uint64_t past_bytes = 256u << 20, Durability durability = Durability::each_flush) {
  WorldOptions with = options(durability);
  with.past_bytes = past_bytes;
  return with;
}

std::uint64_t hash_of_rows(const EntityRegistry& registry) {
  std::string all;
  for (const auto& [key, bytes] : rows_of(registry))
    all += std::to_string(static_cast<int>(key.section)) + ' ' + std::to_string(key.key) + ' ' +
           std::to_string(key.column) + ' ' + std::to_string(bytes.size()) + ' ' + bytes;
  return hash64(all);
}

/// Notes the state before each tick, as `note` returns it.
template <auto note>
struct Noted final : FlushVisitor {
  explicit Noted(World& of) : world(of) { world.add_visitor(*this); }
  ~Noted() override { world.remove_visitor(*this); }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  void before_flush() override {}
  void after_flush(EntityRegistry& registry) override { of_tick[world.tick()] = note(registry); }
  World& world;
  std::map<std::uint64_t, decltype(note(std::declval<const EntityRegistry&>()))> of_tick;
};
using States = Noted<rows_of>;
using Hashes = Noted<hash_of_rows>;

std::string refusal(const std::expected<Restored, WorldError>& restored) {
  return restored ? std::string() : restored.error().detail();
}

}  // namespace

TEST_CASE("a restore gives the state that the world had at any of 200 ticks") {
  const Directory directory;
  Played played(directory / "w.muster", keeping());
  const bool soaks = test::number_in("MUSTER_SOAK_MINUTES", 0) > 0;
  const std::uint64_t ticks = soaks ? 5000 : 600;
  if (soaks) played.world.registry().create_many(20'000, game::Armor{.factor = 2});
  std::map<std::uint64_t, std::uint64_t> of_tick;
  {
    Hashes states(played.world);
    for (std::uint64_t i = 0; i < ticks; ++i) {
      if (i % 37 == 0) played.world.save();
      if (i % 91 == 5) REQUIRE(played.world.begin_save([](const auto&) {}));
      played.tick();
    }
    of_tick = states.of_tick;
  }
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t tick = 51 + random() % (ticks - 2), sequence = played.world.registry().sequence();
    if (tick == played.world.tick()) continue;
    const std::uint64_t epoch = played.world.epoch();
    CAPTURE(round, tick);
    const auto restored = played.world.restore({.tick = tick});
    CHECK(refusal(restored) == "");
    if (!restored) break;
    CHECK(restored->tick == tick);
    CHECK(played.world.tick() == tick);
    CHECK(hash_of_rows(played.world.registry()) == of_tick[tick]);
    CHECK(played.world.registry().sequence() >= sequence);
    CHECK(played.world.epoch() != epoch);
  }
}

TEST_CASE("a restored world goes on, is restored again, and comes back when it is opened") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::map<StateKey, std::string> first, second;
  {
    Played played(path, keeping());
    States states(played.world);
    for (int i = 0; i < 100; ++i) played.tick();
    const auto of_tick = states.of_tick;
    REQUIRE(played.world.restore({.tick = 70}));
    CHECK(rows_of(played.world.registry()) == of_tick.at(70));
    for (int i = 0; i < 10; ++i) played.tick();
    CHECK(played.world.tick() == 80);
    played.world.save();
    // Tick 90 is of the time before the restore, and tick 80 of the time after it.
    CHECK(refusal(played.world.restore({.tick = 90})) == "");
    CHECK(rows_of(played.world.registry()) == of_tick.at(90));
    second = states.of_tick.at(79);
    REQUIRE(played.world.restore({.tick = 79}));
    CHECK(rows_of(played.world.registry()) == second);
    first = of_tick.at(60);
  }
  Played again(path, keeping());
  CHECK(rows_of(again.world.registry()) == second);
  CHECK(refusal(again.world.restore({.tick = 60})) == "");
  CHECK(rows_of(again.world.registry()) == first);
}

TEST_CASE("a state that is not kept is refused with the states that are, and nothing changes") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Played played(path, keeping(20'000));
  for (int i = 0; i < 400; ++i) {
    if (i % 10 == 0) played.world.save();
    played.tick();
  }
  const auto rows = rows_of(played.world.registry());
  const auto history = played.history();
  const std::uint64_t epoch = played.world.epoch();
  CHECK(refusal(played.world.restore({.tick = 20})).starts_with("tick 20 is not kept. The oldest kept state: tick"));
  CHECK(refusal(played.world.restore({.tick = 1'000'000})).starts_with("tick 1000000 is not kept."));
  CHECK(
      refusal(played.world.restore({.time = "2001-01-01T00:00:00Z"})).starts_with("2001-01-01T00:00:00Z is not kept."));
  REQUIRE(played.world.play());
  CHECK(refusal(played.world.restore({.tick = 440})).contains("a run is on"));
  REQUIRE(played.world.stop_playing());
  CHECK(rows_of(played.world.registry()) == rows);
  CHECK(played.history() == history);
  CHECK(played.world.epoch() != epoch);
  const auto past = played.world.past();
  REQUIRE(past);
  CHECK(past->front().tick > 20);
  CHECK(refusal(played.world.restore({.tick = past->front().tick})) == "");
}

TEST_CASE("what is kept of the past stays within its limit") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Played played(path, keeping(100'000));
  for (int i = 0; i < 2000; ++i) {
    if (i % 10 == 0) played.world.save();
    played.tick();
  }
  played.world.save();
  played.world.save();
  std::uint64_t bytes = 0;
  for (const auto& [key, row] : rows_of(played.world.registry())) bytes += row.size();
  const std::uint64_t all = std::stoull(run_sql(path,
                                                "SELECT (SELECT ifnull(sum(length(bytes)), 0) FROM state) + "
                                                "(SELECT ifnull(sum(length(records)), 0) FROM journal)"));
  CAPTURE(all, bytes);
  CHECK(all - bytes < 150'000);
  CHECK(all - bytes > 50'000);
}

TEST_CASE("a level is restored after its run, but no state of the run") {
  const Directory directory;
  Played played(directory / "w.muster", keeping());
  States states(played.world);
  for (int i = 0; i < 10; ++i) played.tick();
  const auto before = states.of_tick;
  REQUIRE(played.world.play());
  for (int i = 0; i < 10; ++i) played.tick();
  played.world.save();
  for (int i = 0; i < 10; ++i) played.tick();
  REQUIRE(played.world.stop_playing());
  CHECK(played.world.tick() == 60);
  CHECK(refusal(played.world.restore({.tick = 75})).starts_with("tick 75 is not kept."));
  CHECK(refusal(played.world.restore({.tick = 55})) == "");
  CHECK(rows_of(played.world.registry()) == before.at(55));
  played.tick();
  CHECK(refusal(played.world.restore({.tick = 58})) == "");
  CHECK(rows_of(played.world.registry()) == before.at(58));
}

TEST_CASE("of the history, a restore leaves the steps that were made by then") {
  const Directory directory;
  Played played(directory / "w.muster", keeping());
  EntityRegistry& r = played.world.registry();
  const Entity e = r.create("shown", game::Health{.value = 1}).or_stop();
  const Sender by{.session = 21, .user = 9};
  const auto set = [&](float value) {
    BatchBuilder batch;
    batch.append_rows(e, Set{}, game::Health{.value = value});
    r.host().push_batch(batch.bytes(), by);
  };
  played.tick();
  set(2);
  played.tick();
  const std::uint64_t tick = played.world.tick() - 1;
  set(3);
  played.tick();
  REQUIRE(played.world.history().steps(9, HistoryAct::undo) == 2);
  CHECK(refusal(played.world.restore({.tick = tick})) == "");
  CHECK(r.get<game::Health>(e).value == 2);
  CHECK(played.world.history().steps(9, HistoryAct::undo) == 1);
  played.world.history().apply(HistoryAct::undo, by, Conflicts::skip, false);
  CHECK(r.get<game::Health>(e).value == 1);
}

TEST_CASE("if the disk fails during a restore, the world is as it was or as it is restored") {
  const Directory directory;
  FailingDisk failing;
  Played played(directory / "w.muster", keeping());
  States states(played.world);
  for (int i = 0; i < 30; ++i) played.tick();
  const auto past = states.of_tick.at(60);
  bool failed = false;
  played.world.save();  // so that the recorded inputs are in the file
  for (std::int64_t left = 0; left < 100; ++left) {
    played.tick();
    const auto now = rows_of(played.world.registry());
    const std::uint64_t tick = played.world.tick();
    failing.disk.operations_left = left;
    const auto restored = played.world.restore({.tick = 60});
    failing.disk.operations_left = -1;
    CAPTURE(left, refusal(restored));
    CHECK(rows_of(played.world.registry()) == (restored ? past : now));
    CHECK(played.world.tick() == (restored ? 60 : tick));
    REQUIRE(played.world.try_save());
    CHECK(played.world.recording_error() == nullptr);
    if (restored) break;
    failed = true;
  }
  CHECK(failed);
  played.tick();
  CHECK(played.world.tick() == 61);
}

TEST_CASE("if the process dies during a restore, the file contains the state before or after it") {
  const Directory directory;
  const std::string path = directory / "w.muster", copy = directory / "copy.muster";
  std::map<StateKey, std::string> past, now;
  {
    Played played(path, keeping());
    States states(played.world);
    for (int i = 0; i < 30; ++i) played.tick();
    past = states.of_tick.at(60);
    now = rows_of(played.world.registry());
  }
  bool were[2] = {};
  for (std::int64_t left = 0; left < 400 && !were[1]; ++left) {
    CAPTURE(left);
    for (const char* end : {"", "-wal", "-shm", "-lock", "-work"}) std::filesystem::remove(copy + end);
    std::filesystem::copy_file(path, copy);
    {
      FailingDisk failing;
      Played played(copy, keeping());
      failing.disk.operations_left = left;
      (void)played.world.restore({.tick = 60});
    }
    Played again(copy, keeping());
    const auto rows = rows_of(again.world.registry());
    const bool is_past = rows == past;
    CHECK((is_past || rows == now));
    were[is_past] = true;
    CHECK(refusal(again.world.restore({.tick = 65})) == "");
  }
  CHECK(were[0]);
  CHECK(were[1]);
}

}  // namespace muster::play_test
