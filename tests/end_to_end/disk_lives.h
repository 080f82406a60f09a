// Sessions, the registry and the writer of a world on a disk that fails, fills up, is slow and loses what it had not synced, over many lives
// of the world: what was told to be durable is there afterwards, with the state that it belongs to.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "messages/frame.h"
#include "server/desk/desk.h"
#include "server/world/world.h"
#include "tests/server/arena.h"
#include "tests/server/hand_world.h"
#include "tests/server/queued_frames.h"
#include "tests/support/all_threads.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

namespace muster::test {

inline constexpr std::size_t units = 8;

inline Handlers install_arena(EntityRegistry& registry) {
  registry.add_type<arena::Position>();
  return {
      registry.subscribe("damage", [](const arena::Damage& hit, arena::Health& health) { health.value -= hit.amount; }),
      registry.subscribe("move", [](const Update&, arena::Position& at, Entity self, Outbox& out) {
        at.x += 1;
        if (static_cast<int>(at.x) % 64 == 0) out.destroy(self);
      })};
}

/// What one session knows.
struct ArenaPerson {
  std::shared_ptr<Session> session;
  struct Edit {
    std::size_t unit = 0;
    float amount = 0;
  };
  std::map<std::uint64_t, Edit> asked = {};  // by request; those that were not answered
  std::uint64_t requests = 0;
};

/// A world over many lives. What is checked fails the test; text() says where.
class DiskLives {
 public:
  /// `slow`: syncs take as long as some turns do, and the world goes on meanwhile: of a program that has threads.
  explicit DiskLives(std::uint64_t seed, bool slow = false)
      // Worlds as small as these leave little in a -wal: every third is merged all the time.
      : merge_bytes_(seed % 3 == 1 ? 4000 : 16u << 20), random_(seed), usual_(sqlite3_vfs_find(nullptr)) {
    disk_.remember = true;
    slow_ = slow;
    if (slow) disk_.before_sync = [this] { sync_slowly(); };
    sqlite3_vfs_register(sqlite3_vfs_find(disk_.name().c_str()), 1);
  }
  ~DiskLives() { sqlite3_vfs_register(usual_, 1); }
  DiskLives(const DiskLives&) = delete;
  DiskLives& operator=(const DiskLives&) = delete;

  /// `cut_after`: of so many operations of the disk the first one fails, and all later ones; -1: faults are drawn. What was done is
  /// looked at by the next life.
  void live(int turns, std::int64_t cut_after = -1) {
    std::uint64_t told = 0;
    sequence_before_ = 0;
    {
      World world(path_, install_arena,
                  {.hz = 100'000, .durability = Durability::each_flush, .autosave = {}, .merge_bytes = merge_bytes_});
      look(world);
      if (world.is_new()) begin(world);
      told = world.durable_sequence();
      disk_.operations_left = cut_after;
      testing::HandWorld host;
      tie(host, world);
      Desk desk(world.registry(), host, {});
      world.add_visitor(desk);
      Noting noting(*this, world);  // after the desk: what is handed over then
      std::vector<ArenaPerson> people(3);
      for (ArenaPerson& person : people)
        person.session = desk.join({session::Role::admin}, "person", "test",
                                   std::make_shared<Connection>(OutgoingLimits{}), 0, [](Session&) {});
      for (int turn = 0; turn < turns; ++turn) {
        if (cut_after < 0) draw_faults();
        for (std::uint64_t left = random_() % 4; left > 0; --left) edit(desk, people[random_() % people.size()]);
        if (random_() % 20 == 0) (void)world.begin_save([](const auto&) {});
        if (random_() % 40 == 0) (void)world.try_save();
        const Frame frame = world.next_frame();
        if (frame.tick % 8 == 0) (void)world.registry().create(arena::Position{});
        world.registry().push(Update{.dt = frame.dt});
        world.registry().flush();
        note(world);
        for (ArenaPerson& person : people) listen(world, person);
        REQUIRE(world.durable_sequence() >= told);
        told = std::max(told, world.durable_sequence());
        behind += told < sequence_before_ ? 1 : 0;
        sequence_before_ = world.registry().sequence();
        turns_.fetch_add(1, std::memory_order_relaxed);
      }
      if (cut_after < 0) disk_.operations_left = 0;
      world.remove_visitor(desk);
    }
    told_ = told;
    if (cut_after >= 0 || random_() % 3 > 0)
      disk_.cut_power(random_);
    else
      disk_.operations_left = -1;
    disk_.free_bytes = -1;
    ++lives;
  }
  /// Opens the world and looks whether it is what it was.
  void check() {
    const World world(path_, install_arena, {});
    look(world);
  }
  std::uint64_t operations() const noexcept { return disk_.operations; }

  std::uint64_t lives = 0, edits = 0, refused = 0, lost = 0;
  std::uint64_t behind = 0;  // turns after which the one before was not on the disk yet

 private:
  void begin(World& world) {
    for (std::size_t i = 0; i < units; ++i)
      (void)world.registry().create("unit" + std::to_string(i), arena::Health{.value = 1000});
    disk_.operations_left = -1;
    world.save();
    note(world);
  }
  void look(const World& world) {
    if (world.is_new()) return;
    const std::uint64_t sequence = world.registry().sequence();
    CAPTURE(told_, sequence, world.recovery_report().text());
    REQUIRE(world.stopped() == nullptr);
    REQUIRE(world.recovery_report().exact());
    REQUIRE(sequence >= told_);
    REQUIRE(hashes_.contains(sequence));
    REQUIRE(world.registry().hash() == hashes_.at(sequence));
    lost += static_cast<std::uint64_t>(std::distance(applied_.upper_bound(sequence), applied_.end()));
    applied_.erase(applied_.upper_bound(sequence), applied_.end());
    hashes_.erase(hashes_.upper_bound(sequence), hashes_.end());
    float expected[units];
    std::ranges::fill(expected, 1000.0f);
    for (const auto& [at, edit] : applied_) expected[edit.unit] -= edit.amount;
    for (std::size_t i = 0; i < units; ++i)
      REQUIRE(world.registry().get<arena::Health>(world.registry().find_path("/unit" + std::to_string(i))).value ==
              expected[i]);
  }
  struct Noting final : FlushVisitor {
    Noting(DiskLives& lives, World& in) : all(lives), world(in) { world.add_visitor(*this); }
    ~Noting() override { world.remove_visitor(*this); }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;
    void before_flush() override {}
    void after_flush(EntityRegistry&) override { all.note(world); }
    DiskLives& all;
    World& world;
  };
  void note(const World& world) { hashes_[world.registry().sequence()] = world.registry().hash(); }
  static void tie(testing::HandWorld& host, World& world) {
    host.on_wake = [&world] { world.wake(); };
    host.gives_durable = [&world] { return world.durable_sequence(); };
    host.gives_saved = [&world] { return world.saved_sequence(); };
    host.gives_error = [&world] { return world.recording_error(); };
    host.gives_save_error = [&world] { return world.autosave_error(); };
    host.known.durability = world.durability();
  }
  /// Until the world made some turns more; not for long where it waits for the disk.
  void sync_slowly() {
    using std::chrono::steady_clock;
    const std::uint64_t until = turns_.load(std::memory_order_relaxed) + sync_turns_.load(std::memory_order_relaxed);
    const auto latest = steady_clock::now() + std::chrono::microseconds(300);
    while (turns_.load(std::memory_order_relaxed) < until && steady_clock::now() < latest) std::this_thread::yield();
  }
  void draw_faults() {
    if (slow_ && random_() % 4 == 0) sync_turns_ = random_() % 3 ? random_() % 8 : 0;
    if (random_() % 12 == 0) disk_.operations_left = static_cast<std::int64_t>(random_() % 40);
    if (random_() % 20 == 0) disk_.free_bytes = static_cast<std::int64_t>(random_() % 20'000);
    if (random_() % 10 == 0) disk_.operations_left = disk_.free_bytes = -1;
  }
  void edit(Desk& desk, ArenaPerson& person) {
    const ArenaPerson::Edit edit{random_() % units, static_cast<float>(random_() % 9)};
    BatchBuilder builder;
    builder.append(Entity{static_cast<std::uint32_t>(edit.unit + 1), 1}, arena::Damage{.amount = edit.amount});
    if (desk.take_next(*person.session, ++person.requests, BatchView(builder.bytes()), true, false))
      person.asked[person.requests] = edit;
    desk.pass_on(*person.session);
  }
  /// Reads what the session was sent.
  void listen(const World& world, ArenaPerson& person) {
    testing::take_all_frames(*person.session->outgoing(), [&](const WireFrame& frame) {
      hear(world, person, frame.header.request, BatchView(frame.batch));
    });
  }
  void hear(const World& world, ArenaPerson& person, std::uint64_t request, BatchView batch) {
    if (batch.type() == TypeTraits<session::Ack>::id) {
      const auto ack = session::read<session::Ack>(batch);
      REQUIRE(ack.durable_through <= world.durable_sequence());
      REQUIRE(ack.handled == 1);
      REQUIRE(applied_.emplace(ack.sequence, person.asked.at(request)).second);
      ++edits;
    } else if (batch.type() == TypeTraits<session::Fault>::id && request != 0) {
      REQUIRE(session::read<session::Fault>(batch).code == session::FaultCode::not_recorded);
      ++refused;
    } else {
      return;
    }
    person.asked.erase(request);
  }

  const Folder folder_{memory_disk()};
  const std::string path_ = folder_ / "w.muster";
  const std::uint64_t merge_bytes_;
  std::mt19937_64 random_;
  sqlite3_vfs* const usual_;
  FaultyDisk disk_{"failing"};
  bool slow_ = false;
  std::atomic<std::uint64_t> turns_ = 0, sync_turns_ = 0;
  std::uint64_t sequence_before_ = 0;
  std::uint64_t told_ = 0;                              // durable, by what the last life was told
  std::map<std::uint64_t, std::uint64_t> hashes_;       // after each turn, by sequence
  std::map<std::uint64_t, ArenaPerson::Edit> applied_;  // by sequence
};

/// Three lives of a new world.
inline void live_seed(DiskLives& lives) {
  for (int life = 0; life < 3; ++life) lives.live(25);
  lives.check();
}

/// As many seeds as there are to be, three lives each; prints what came of them.
inline void live_seeds(Seeds seeds, bool slow) {
  std::uint64_t edits = 0, refused = 0, lost = 0, behind = 0;
  for (std::uint64_t seed; seeds.next(seed);) {
    CAPTURE(seed);
    INFO("again: MUSTER_DISK_SEEDS=1 MUSTER_DISK_SEED=" << seed);
    DiskLives lives(seed, slow);
    live_seed(lives);
    edits += lives.edits;
    refused += lives.refused;
    lost += lives.lost;
    behind += lives.behind;
  }
  std::printf(
      "seeds %s, %llu of them: %llu edits taken, %llu refused, %llu lost that nobody had said were durable; %llu turns "
      "ahead of the disk\n",
      seeds.text().c_str(), static_cast<unsigned long long>(seeds.done()), static_cast<unsigned long long>(edits),
      static_cast<unsigned long long>(refused), static_cast<unsigned long long>(lost),
      static_cast<unsigned long long>(behind));
  CHECK(edits > 10 * seeds.done());
  CHECK(refused > 0);
  if (slow) CHECK(behind > 0);
}

}  // namespace muster::test
