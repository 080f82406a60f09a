// A battle that sessions edit, and whose process is killed: the journal alone gives it back, on any number of workers and with any compiler.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "messages/batch_builder.h"
#include "registry/host.h"
#include "server/world/world.h"
#include "tests/skirmish/battle.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

using namespace muster;

namespace {

WorldOptions options(std::uint32_t workers) {
  return {.hz = 60,
          .code = "a battle",
          .durability = Durability::batched,
          .autosave = {},
          .registry = {.pass_serial_below_ns = 0},
          .workers = workers};
}

/// What three sessions send before a tick, drawn by its number.
void edit(const EntityRegistry& registry, std::span<const std::shared_ptr<InboxLane>> sessions, std::uint64_t tick) {
  std::mt19937_64 random(tick);
  for (std::uint64_t edits = random() % 4; edits > 0; --edits) {
    // One draw a statement: compilers differ in which operand comes first.
    std::string squad = random() % 2 ? "/red/squad-" : "/blue/squad-";
    squad += std::to_string(random() % 8);
    const Entity unit = registry.find_path(squad + "/unit-" + std::to_string(random() % 8));
    BatchBuilder batch;
    if (random() % 200 != 0)
      batch.append(unit, skirmish::Damage{.amount = static_cast<float>(random() % 20)});
    else
      batch.append(registry.find_path(squad), Destroy{});
    InboxLane& session = *sessions[random() % sessions.size()];
    (void)session.put(batch.bytes(), random() % 1000);
  }
}

struct Lived {
  std::uint64_t hash = 0, sequence = 0;
};

/// So many ticks of a battle in a process of its own, which is killed when all of them are durable.
Lived live_and_die(const std::string& path, std::uint64_t ticks) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    World world(path, skirmish::install, options(1));
    EntityRegistry& registry = world.registry();
    skirmish::define_squads(registry);
    registry.push(skirmish::Deploy{.entities = 2000, .distance = 90});
    world.save();
    std::vector<std::shared_ptr<InboxLane>> sessions;
    for (std::uint64_t session = 1; session <= 3; ++session)
      sessions.push_back(registry.host().inbox().open_lane(session));
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
      if (world.pace().steps == 0) (void)world.set_pace({.paused = true, .steps = 1});
      (void)world.next_frame();
      registry.push(Update{.dt = 1.0f / 60});
      edit(registry, sessions, tick);
    }
    sessions.clear();
    const Lived lived{registry.hash(), registry.sequence()};
    while (world.durable_sequence() < lived.sequence) {
      world.stop();
      (void)world.next_frame();
    }
    const Lived last{registry.hash(), registry.sequence()};
    (void)!::write(pipe[1], &last, sizeof last);
    ::raise(SIGKILL);
  }
  ::close(pipe[1]);
  Lived lived;
  const bool told = ::read(pipe[0], &lived, sizeof lived) == sizeof lived;
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(told);
  REQUIRE(WIFSIGNALED(status));
  return lived;
}

}  // namespace

TEST_CASE("a battle that sessions edit comes back from its journal to one hash, on one worker and on two") {
  const bool soak = test::number_in("MUSTER_SOAK_MINUTES", 0) > 0;
  const std::uint64_t ticks = soak ? 60'000 : 2'000;
  const test::Folder folder(test::memory_disk());
  const std::string path = folder / "battle.muster";
  const Lived lived = live_and_die(path, ticks);
  // Of every compiler, with and without sanitizers.
  CHECK(lived.hash == (soak ? 0xed5bc3eef3c1515bu : 0x19a1824417ffa23cu));
  for (const std::uint32_t workers : {1u, 2u}) {
    CAPTURE(workers);
    const World world(path, skirmish::install, options(workers));
    CHECK(world.recovery_report().exact());
    CHECK(world.recovery_report().ticks == ticks);
    CHECK(world.registry().sequence() >= lived.sequence);
    REQUIRE(world.registry().hash() == lived.hash);
    std::uint32_t lost = 0;
    world.registry().each<skirmish::Army>([&](const skirmish::Army& army) { lost += army.lost; });
    CHECK(lost > 100);  // there was a battle to come back to
    CHECK(world.registry().entity_count() > 1000);
  }
}
