// Sessions, the registry and the writer of a world on a disk that fails, fills up and loses what it had not synced, drawn by one seed: what
// was told to be durable is there afterwards, with the state that it belongs to.
//
// This program has no threads (see pthread_create), so the writer works where the world hands over what it recorded, and a seed does the
// same each time.
#include <pthread.h>
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>

#include "messages/frame.h"
#include "server/desk/desk.h"
#include "server/world/world.h"
#include "tests/server/arena.h"
#include "tests/server/queued_frames.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): in the place of the system's
extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) noexcept { return EAGAIN; }

using namespace muster;

namespace {

constexpr std::size_t units = 8;

Handlers install(EntityRegistry& registry) {
  registry.add_type<arena::Position>();
  return {
      registry.subscribe("damage", [](const arena::Damage& hit, arena::Health& health) { health.value -= hit.amount; }),
      registry.subscribe("move", [](const Update&, arena::Position& at, Entity self, Outbox& out) {
        at.x += 1;
        if (static_cast<int>(at.x) % 64 == 0) out.destroy(self);
      })};
}

/// What one session knows.
struct Person {
  std::shared_ptr<Session> session;
  struct Edit {
    std::size_t unit = 0;
    float amount = 0;
  };
  std::map<std::uint64_t, Edit> asked = {};  // by request; those that were not answered
  std::uint64_t requests = 0;
};

/// A world over many lives. What is checked fails the test; text() says where.
class Lives {
 public:
  explicit Lives(std::uint64_t seed) : random_(seed), usual_(sqlite3_vfs_find(nullptr)) {
    disk_.remember = true;
    sqlite3_vfs_register(sqlite3_vfs_find(disk_.name().c_str()), 1);
  }
  ~Lives() { sqlite3_vfs_register(usual_, 1); }
  Lives(const Lives&) = delete;
  Lives& operator=(const Lives&) = delete;

  /// `cut_after`: of so many operations of the disk the first one fails, and all later ones; -1: faults are drawn. What was done is
  /// looked at by the next life.
  void live(int turns, std::int64_t cut_after = -1) {
    std::uint64_t told = 0;
    {
      World world(path_, install, {.hz = 100'000, .durability = Durability::commit});
      look(world);
      if (world.is_new()) begin(world);
      told = world.durable_sequence();
      disk_.operations_left = cut_after;
      Desk desk(world.registry(), host(world), {});
      world.add_visitor(desk);
      Noting noting(*this, world);  // after the desk: what is handed over then
      std::vector<Person> people(3);
      for (Person& person : people)
        person.session = desk.join(session::Role::admin, "person", "test", std::make_shared<Outgoing>(OutgoingLimits{}),
                                   0, [](Session&) {});
      for (int turn = 0; turn < turns; ++turn) {
        if (cut_after < 0) draw_faults();
        for (std::uint64_t left = random_() % 4; left > 0; --left) edit(desk, people[random_() % people.size()]);
        if (random_() % 20 == 0) (void)world.begin_commit([](const auto&) {});
        if (random_() % 40 == 0) (void)world.try_commit();
        const Frame frame = world.next_frame();
        if (frame.tick % 8 == 0) (void)world.registry().create(arena::Position{});
        world.registry().push(Update{.dt = frame.dt});
        world.registry().flush();
        note(world);
        for (Person& person : people) listen(world, person);
        REQUIRE(world.durable_sequence() >= told);
        told = std::max(told, world.durable_sequence());
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
    const World world(path_, install, {});
    look(world);
  }
  std::uint64_t operations() const noexcept { return disk_.operations; }

  std::uint64_t lives = 0, edits = 0, refused = 0, lost = 0;

 private:
  void begin(World& world) {
    for (std::size_t i = 0; i < units; ++i)
      (void)world.registry().create("unit" + std::to_string(i), arena::Health{.value = 1000});
    disk_.operations_left = -1;
    world.commit();
    note(world);
  }
  void look(const World& world) {
    if (world.is_new()) return;
    const std::uint64_t sequence = world.registry().sequence();
    CAPTURE(told_, sequence, world.recovery_report().text());
    REQUIRE(world.stopped() == nullptr);
    REQUIRE(world.recovery_report().exact());
    REQUIRE(world.recovery_report().cut.empty());
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
    Noting(Lives& lives, World& in) : all(lives), world(in) { world.add_visitor(*this); }
    ~Noting() override { world.remove_visitor(*this); }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;
    void before_flush() override {}
    void after_flush(EntityRegistry&) override { all.note(world); }
    Lives& all;
    World& world;
  };
  void note(const World& world) { hashes_[world.registry().sequence()] = world.registry().hash(); }
  static DeskHost host(World& world) {
    DeskHost host;
    host.wake = [&world] { world.wake(); };
    host.durable_sequence = [&world] { return world.durable_sequence(); };
    host.durable = {.saved_sequence = [&world] { return world.saved_sequence(); },
                    .error = [&world] { return world.recording_error(); },
                    .save_error = [&world] { return world.autosave_error(); },
                    .durability = world.durability()};
    return host;
  }
  void draw_faults() {
    if (random_() % 12 == 0) disk_.operations_left = static_cast<std::int64_t>(random_() % 40);
    if (random_() % 20 == 0) disk_.free_bytes = static_cast<std::int64_t>(random_() % 20'000);
    if (random_() % 10 == 0) disk_.operations_left = disk_.free_bytes = -1;
  }
  void edit(Desk& desk, Person& person) {
    const Person::Edit edit{random_() % units, static_cast<float>(random_() % 9)};
    BatchBuilder builder;
    builder.append(Entity{static_cast<std::uint32_t>(edit.unit + 1), 1}, arena::Damage{.amount = edit.amount});
    if (desk.take_in(*person.session, ++person.requests, BatchView(builder.bytes()), true))
      person.asked[person.requests] = edit;
  }
  /// Reads what the session was sent.
  void listen(const World& world, Person& person) {
    testing::take_all_frames(*person.session->outgoing, [&](const WireFrame& frame) {
      hear(world, person, frame.header.request, BatchView(frame.batch));
    });
  }
  void hear(const World& world, Person& person, std::uint64_t request, BatchView batch) {
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

  const test::Folder folder_{test::memory_disk()};
  const std::string path_ = folder_ / "w.muster";
  std::mt19937_64 random_;
  sqlite3_vfs* const usual_;
  test::FaultyDisk disk_{"failing"};
  std::uint64_t told_ = 0;                         // durable, by what the last life was told
  std::map<std::uint64_t, std::uint64_t> hashes_;  // after each turn, by sequence
  std::map<std::uint64_t, Person::Edit> applied_;  // by sequence
};

}  // namespace

TEST_CASE("whatever a disk does while sessions edit, what was durable is there, and what is there was told") {
  test::Seeds seeds("MUSTER_DISK_SEEDS", "MUSTER_DISK_SEED", 200, 20'000);
  std::uint64_t edits = 0, refused = 0, lost = 0;
  for (std::uint64_t seed; seeds.next(seed);) {
    CAPTURE(seed);
    INFO("again: MUSTER_DISK_SEEDS=1 MUSTER_DISK_SEED=" << seed);
    Lives lives(seed);
    for (int life = 0; life < 3; ++life) lives.live(25);
    lives.check();
    edits += lives.edits;
    refused += lives.refused;
    lost += lives.lost;
  }
  std::printf("seeds %s, %llu of them: %llu edits taken, %llu refused, %llu lost that nobody had said were durable\n",
              seeds.text().c_str(), static_cast<unsigned long long>(seeds.done()),
              static_cast<unsigned long long>(edits), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(lost));
  CHECK(edits > 10 * seeds.done());
  CHECK(refused > 0);
}

TEST_CASE(
    "a life whose disk fails for good at any one of its operations leaves a world that is what it was told to be") {
  std::uint64_t operations = 0;
  {
    Lives whole(7);
    whole.live(4);
    const std::uint64_t before = whole.operations();
    whole.live(12, std::int64_t{1} << 40);
    operations = whole.operations() - before;
    whole.check();
  }
  REQUIRE(operations > 50);
  for (std::uint64_t cut = 0; cut < operations; ++cut) {
    CAPTURE(cut);
    Lives lives(7);
    lives.live(4);
    lives.live(12, static_cast<std::int64_t>(cut));
    lives.check();
  }
}
