// A world whose inputs are recorded: what was durable comes back, however its process ended.
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/support/faulty_disk.h"

using namespace muster;
using namespace muster::test;

namespace {

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          registry.subscribe("tick", [](const game::Ping& ping, const game::Health& health, Entity self, Outbox& out,
                                        Spawner& spawner) {
            if (static_cast<std::uint32_t>(std::abs(health.value)) % 16 == ping.hops % 16)
              spawner.create_under(self, "child", game::Armor{.factor = health.value});
            if (health.value < -50) out.destroy(self);
          })};
}

WorldOptions recorded(Durability durability = Durability::each_flush, std::string code = "game 1") {
  return {.hz = 20'000, .code = std::move(code), .durability = durability, .autosave = {}};
}

void populate(EntityRegistry& r) {
  for (int i = 0; i < 20; ++i)
    r.create("e" + std::to_string(i), game::Health{.value = static_cast<float>(i * 7)}).or_stop();
}

/// A world in which the host makes ticks and three lanes bring edits, all drawn by the tick's number alone.
struct Life {
  Life(const std::string& path, WorldOptions options) : world(path, install, std::move(options)) {
    EntityRegistry& r = world.registry();
    if (world.is_new()) {
      populate(r);
      world.save();
    }
    for (std::uint64_t session = 1; session <= 3; ++session) lanes.push_back(r.host().inbox().open_lane(session));
  }
  bool tick() {
    const Frame frame = world.next_frame();
    if (!frame) return false;
    EntityRegistry& r = world.registry();
    std::mt19937_64 random(frame.tick);
    r.push(game::Ping{.hops = static_cast<std::uint32_t>(random() % 100)});
    for (int edits = static_cast<int>(random() % 5); edits > 0; --edits) {
      BatchBuilder edit;
      edit.append(r.find_path("/e" + std::to_string(random() % 20)),
                  game::Damage{.amount = static_cast<float>(random() % 5) - 2});
      (void)lanes[random() % 3]->put(edit.bytes(), random() % 1000);
    }
    return true;
  }
  World world;
  std::vector<std::shared_ptr<InboxLane>> lanes;
};

/// The state after each input of a life that nothing interrupts.
struct Uninterrupted final : FlushVisitor, InputSink {
  explicit Uninterrupted(const std::string& path, std::uint64_t ticks) : life(path, recorded(Durability::checkpoint)) {
    life.world.add_visitor(*this);
    life.world.registry().host().add_sink(*this);
    note();
    while (life.world.tick() < ticks) (void)life.tick();
    life.world.registry().host().remove_sink(*this);
    life.world.remove_visitor(*this);
    const auto& [sequence, state] = *std::next(hashes.begin(), static_cast<std::ptrdiff_t>(hashes.size() / 2));
    CHECK(replayed(sequence) == state);
  }
  void before_flush() override {}
  void after_flush(EntityRegistry&) override { note(); }
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.emplace_back(envelope, std::vector(batch.begin(), batch.end()));
  }
  bool wants_receipts(InputKind) const noexcept override { return false; }
  void note() { hashes[life.world.registry().sequence()] = {life.world.registry().hash(), life.world.tick()}; }
  /// Hash and tick.
  std::pair<std::uint64_t, std::uint64_t> at(std::uint64_t sequence) const {
    const auto noted = hashes.find(sequence);
    return noted == hashes.end() ? replayed(sequence) : noted->second;
  }
  /// False: between two flushes. A journal group that is full ends anywhere; the lanes' edits of that tick behind it are lost, so
  /// that a world which goes on there is another one than this.
  bool flushed_at(std::uint64_t sequence) const { return hashes.contains(sequence); }
  std::pair<std::uint64_t, std::uint64_t> replayed(std::uint64_t sequence) const {
    EntityRegistry registry;
    const Handlers handlers = install(registry);
    populate(registry);
    std::uint64_t ticks = 0;
    for (const auto& [envelope, batch] : inputs) {
      if (envelope.sequence > sequence) break;
      registry.host().replay(envelope, batch);
      ticks += envelope.kind == InputKind::advance;
    }
    return {registry.hash(), ticks};
  }
  Life life;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> hashes;  // after each flush: sequence -> hash, tick
  std::vector<std::pair<Envelope, std::vector<std::byte>>> inputs;
};

/// Begins a save now and then, where nothing lies in a lane.
struct Saving final : FlushVisitor {
  Saving(World& of, std::uint64_t ticks) : world(of), every(ticks) { world.add_visitor(*this); }
  ~Saving() override { world.remove_visitor(*this); }
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;
  void before_flush() override {}
  void after_flush(EntityRegistry&) override {
    if (every > 0 && world.tick() % every == every - 1) (void)world.begin_save([](const auto&) {});
  }
  World& world;
  const std::uint64_t every;
};

/// Lives `ticks` ticks in a process of its own that ends without warning, and says after each what is durable. The last it said.
std::uint64_t die_after(const std::string& path, Durability durability, std::uint64_t ticks, std::uint64_t save_at) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Life life(path, recorded(durability));
    const Saving saving(life.world, save_at);
    while (life.world.tick() < ticks && life.tick()) {
      const std::uint64_t durable = life.world.durable_sequence();
      if (::write(ends[1], &durable, sizeof durable) != sizeof durable) ::_exit(1);
    }
    ::kill(::getpid(), SIGKILL);
  }
  ::close(ends[1]);
  std::uint64_t told = 0, one = 0;
  while (::read(ends[0], &one, sizeof one) == sizeof one) told = one;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  return told;
}

}  // namespace

TEST_CASE("a world that was killed goes on at its durable sequence, with the state of one that was not") {
  const Directory directory;
  const Uninterrupted whole(directory / "whole.muster", 2000);
  const auto durability = GENERATE(Durability::each_flush, Durability::batched);
  const std::uint64_t save_at = GENERATE(0, 300);
  CAPTURE(static_cast<int>(durability), save_at);
  const std::string path = directory / "w.muster";
  for (const std::uint64_t ticks : {1, 7, 400, 1100, 1999}) {
    const std::uint64_t told = die_after(path, durability, ticks, save_at);
    const Life life(path, recorded(durability));
    const World& world = life.world;
    CAPTURE(ticks, told, world.registry().sequence(), world.recovery_report().text());
    CHECK(world.recovery_report().exact());
    const std::uint64_t sequence = world.registry().sequence();
    CHECK(sequence >= told);
    CHECK(world.durable_sequence() == sequence);
    const auto [hash, tick] = whole.at(sequence);
    CHECK(world.registry().hash() == hash);
    CHECK(world.tick() == tick);
    if (!whole.flushed_at(sequence)) break;
  }
}

TEST_CASE("a world that ends without a save goes on where it was, where inputs are recorded") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto durability = GENERATE(Durability::each_flush, Durability::batched);
  std::uint64_t hash = 0, sequence = 0;
  for (int start = 0; start < 4; ++start) {
    Life life(path, recorded(durability));
    if (start > 0) {
      CHECK(life.world.registry().hash() == hash);
      CHECK(life.world.registry().sequence() == sequence);
      CHECK(life.world.tick() == 50 * static_cast<std::uint64_t>(start));
      CHECK(life.world.recovery_report().inputs ==
            sequence - 40);  // the first save, of names and entities, is the last one
      CHECK(life.world.recovery_report().exact());
    }
    for (int i = 0; i < 50; ++i) REQUIRE(life.tick());
    hash = life.world.registry().hash();
    sequence = life.world.registry().sequence();
  }
}

TEST_CASE("without a journal a world that ends without a save is as of the last one") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::uint64_t hash = 0;
  {
    Life life(path, recorded(Durability::checkpoint));
    hash = life.world.registry().hash();
    for (int i = 0; i < 5; ++i) REQUIRE(life.tick());
    CHECK(life.world.durable_sequence() < life.world.registry().sequence());
  }
  const Life life(path, recorded(Durability::checkpoint));
  CHECK(life.world.registry().hash() == hash);
  CHECK(life.world.recovery_report().text().empty());
}

TEST_CASE("a journal is done again by a world that keeps none itself") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::uint64_t hash = 0;
  {
    Life life(path, recorded());
    for (int i = 0; i < 5; ++i) REQUIRE(life.tick());
    hash = life.world.registry().hash();
  }
  Life life(path, recorded(Durability::checkpoint));
  CHECK(life.world.registry().hash() == hash);
  life.world.save();
  const Life again(directory / "other.muster", recorded());
}

TEST_CASE("other code gets the edits of a journal, saves them at once, and says what was lost") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Entity e;
  std::uint64_t sequence = 0, tick = 0;
  {
    Life life(path, recorded());
    EntityRegistry& r = life.world.registry();
    e = r.find_path("/e3");
    tick = life.world.tick();
    r.push(e, game::Damage{.amount = 11});  // the host's
    BatchBuilder edit;
    edit.append(e, game::Damage{.amount = 4});
    REQUIRE(life.lanes[1]->put(edit.bytes(), 1));
    REQUIRE(life.world.next_frame());
    sequence = r.sequence();
  }
  for (int start = 0; start < 2; ++start) {
    const Life life(path, recorded(Durability::each_flush, "game 2"));
    const World& world = life.world;
    CHECK(world.registry().get<game::Health>(e).value == 17);
    CHECK(world.registry().sequence() == sequence);
    CHECK(world.tick() == tick);
    CHECK(world.durable_sequence() == sequence);
    CHECK(world.recovery_report().exact() == (start == 1));
    CHECK(world.recovery_report().edits == (start == 0 ? 1 : 0));
    CHECK(world.recovery_report().ticks_lost == (start == 0 ? 1 : 0));
  }
}

TEST_CASE(
    "other code gets what edits need of the server's own inputs too: templates that it defined, texts that it made "
    "known") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const std::string named = "a name that nobody else has";
  std::vector<Entity> spawned;
  {
    Life life(path, recorded());
    EntityRegistry& r = life.world.registry();
    TemplateTree camp("camp");
    camp.set("", game::Health{.value = 55});
    REQUIRE(r.define_template(camp).refused == 0);
    r.push(InternText{.text = named});
    BatchBuilder edits;
    const Entity first = r.host().grant(2, 2);
    spawned = {first, Entity{first.index + 1, 1}};
    append_spawn(edits, *r.host().find_template("camp"), std::span(spawned).first(1), Spawn{});
    edits.append(spawned[1], Create{.name = text_of(named)});
    edits.for_each([&](BatchView edit) { REQUIRE(life.lanes[1]->put(edit.bytes(), 1)); });
    REQUIRE(life.world.next_frame());
    REQUIRE(r.alive(spawned[0]));
  }
  for (int start = 0; start < 2; ++start) {
    const Life life(path, recorded(Durability::each_flush, "game 2"));
    const EntityRegistry& r = life.world.registry();
    CHECK(r.host().find_template("camp") != nullptr);
    REQUIRE(r.alive(spawned[0]));
    CHECK(r.get<game::Health>(spawned[0]).value == 55);
    CHECK(r.name(spawned[1]) == named);
  }
}

TEST_CASE("the ids that sessions of a killed world had and did not use come back") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  for (int start = 0; start < 3; ++start) {
    Life life(path, recorded());
    EntityRegistry& r = life.world.registry();
    REQUIRE(life.world.next_frame());
    const Entity first = r.host().grant(1000, 5);
    CHECK(first.index < 1500);
    REQUIRE(life.world.next_frame());
  }
}

TEST_CASE("a world saves itself") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto durability = GENERATE(Durability::batched, Durability::checkpoint);
  WorldOptions options = recorded(durability);
  options.autosave = std::chrono::milliseconds(2);
  options.hz = 2000;
  Life life(path, options);
  for (int save = 0; save < 3; ++save) {
    const std::uint64_t before = life.world.saved_sequence();
    for (int i = 0; i < 20'000 && life.world.saved_sequence() == before; ++i) REQUIRE(life.tick());
    CHECK(life.world.saved_sequence() > before);
    CHECK(life.world.durable_sequence() >= life.world.saved_sequence());
    CHECK(life.world.autosave_error() == nullptr);
  }
}

namespace {

/// Worlds of this process use it while this lives.
struct FailingDisk {
  FailingDisk() { sqlite3_vfs_register(sqlite3_vfs_find("faulty-recording"), 1); }
  ~FailingDisk() { sqlite3_vfs_register(usual, 1); }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  FaultyDisk disk{"faulty-recording"};
};

}  // namespace

TEST_CASE("whatever the disk fails at, and however often, what was durable comes back with the state of that input") {
  const std::uint64_t seed = GENERATE(1, 2);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  const Uninterrupted whole(directory / "whole.muster", 1300);
  FailingDisk failing;
  const std::string path = directory / "w.muster";
  std::uint64_t recovered = 0;
  for (std::uint64_t round = 0, ticks = 0; ticks < 1000; ++round) {
    WorldOptions options = recorded(random() % 2 ? Durability::each_flush : Durability::batched);
    if (random() % 4 > 0) options.autosave = std::chrono::microseconds(random() % 3000 + 1);
    std::uint64_t told = 0;
    {
      Life life(path, options);
      const Saving saving(life.world, random() % 2 ? 0 : 3 + random() % 40);
      for (std::uint64_t left = random() % 120 + 1; left > 0; --left) {
        if (random() % 30 == 0) failing.disk.operations_left = static_cast<std::int64_t>(random() % 60);
        if (random() % 15 == 0) failing.disk.operations_left = -1;
        REQUIRE(life.tick());
        CHECK(life.world.durable_sequence() >= told);
        told = life.world.durable_sequence();
      }
      failing.disk.operations_left = 0;  // as if it were killed
    }
    failing.disk.operations_left = -1;
    const Life life(path, recorded(Durability::checkpoint));
    const World& world = life.world;
    const std::uint64_t sequence = world.registry().sequence();
    CAPTURE(round, told, sequence, world.recovery_report().text());
    CHECK(world.recovery_report().exact());
    REQUIRE(sequence >= told);
    REQUIRE(world.registry().hash() == whole.at(sequence).first);
    ticks = world.tick();
    recovered += world.recovery_report().inputs;
    if (!whole.flushed_at(sequence)) return;
  }
  CHECK(recovered > 100);
}

TEST_CASE("where no inputs are recorded the world says that it cannot save itself, until it can") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  FailingDisk failing;
  WorldOptions options = recorded(Durability::checkpoint);
  options.autosave = std::chrono::milliseconds(1);
  Life life(path, options);
  failing.disk.operations_left = 0;
  for (int i = 0; i < 20'000 && !life.world.recording_error(); ++i) REQUIRE(life.tick());
  REQUIRE(life.world.recording_error());
  CHECK(life.world.recording_error()->starts_with(path + ": "));
  failing.disk.operations_left = -1;
  for (int i = 0; i < 20'000 && life.world.recording_error(); ++i) REQUIRE(life.tick());
  CHECK(life.world.recording_error() == nullptr);
  CHECK(life.world.autosave_error() == nullptr);
}

TEST_CASE("where the disk fails inputs are not recorded, the world says so, and a save that succeeds mends it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  FaultyDisk disk("faulty-recording");
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  sqlite3_vfs_register(sqlite3_vfs_find("faulty-recording"), 1);
  struct Usual {
    ~Usual() { sqlite3_vfs_register(vfs, 1); }
    sqlite3_vfs* vfs;
  } const back{usual};
  std::uint64_t hash = 0, sequence = 0;
  {
    Life life(path, recorded());
    for (int i = 0; i < 5; ++i) REQUIRE(life.tick());
    CHECK(life.world.recording_error() == nullptr);
    life.world.save();  // nothing is being written now
    disk.operations_left = 0;
    const std::uint64_t durable = life.world.durable_sequence();
    for (int i = 0; i < 20'000 && !life.world.recording_error(); ++i) REQUIRE(life.tick());
    REQUIRE(life.world.recording_error());
    CHECK(life.world.recording_error()->starts_with(path + ": "));
    for (int i = 0; i < 50; ++i) REQUIRE(life.tick());
    CHECK(life.world.durable_sequence() == durable);
    CHECK_FALSE(life.world.try_save());
    CHECK(life.world.recording_error());

    disk.operations_left = -1;
    std::optional<bool> saved;
    REQUIRE(life.world.begin_save([&](const auto& report) { saved = report.has_value(); }));
    for (int i = 0; i < 20'000 && !saved; ++i) REQUIRE(life.tick());
    CHECK(saved == true);
    CHECK(life.world.recording_error() == nullptr);
    for (int i = 0; i < 50; ++i) REQUIRE(life.tick());
    hash = life.world.registry().hash();
    sequence = life.world.registry().sequence();
  }
  const Life life(path, recorded());
  CHECK(life.world.registry().sequence() == sequence);
  CHECK(life.world.registry().hash() == hash);
}

TEST_CASE("a tick is as long as the tick's number says, whatever was before it in this process") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const std::string other = directory / "other.muster";
  World whole(other, install, {.hz = 7000});
  std::uint64_t now = 0;
  for (int start = 0; start < 10; ++start) {
    World world(path, install, {.hz = 7000});
    for (int i = 0; i < 3; ++i) {
      now = world.next_frame().now_ns;
      CHECK(whole.next_frame().now_ns == now);
    }
    world.save();
  }
  CHECK(now == 30 * 1'000'000'000ull / 7000);
}
