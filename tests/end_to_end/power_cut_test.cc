// The power goes anywhere while a world is made, edited, saved, merged, closed and opened again, and what was not synced is
// lost, kept or torn. Half of the seeds run without a thread of the writer's, and do the same each time.
#include <dlfcn.h>
#include <pthread.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/end_to_end/power_lives.h"

namespace {

std::atomic<bool> has_threads = true;

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): in the place of the system's
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* with) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return has_threads ? create(thread, how, run, with) : EAGAIN;
}

using namespace muster;
using namespace muster::test;

namespace {

PowerLives::Counts live(std::uint64_t seed, PowerLog::Options disk) {
  has_threads = seed % 2 == 0;
  PowerLives lives(seed, disk);
  lives.live(4);
  has_threads = true;
  return lives.counts();
}

std::uint64_t bad_cuts(PowerLog::Options disk, std::uint64_t seeds) {
  std::uint64_t bad = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) bad += live(seed, disk).bad;
  return bad;
}

}  // namespace

TEST_CASE("wherever the power goes, what was durable is there once, and the world opens") {
  Seeds seeds("MUSTER_POWER_SEEDS", "MUSTER_POWER_SEED", 10, 120);
  PowerLives::Counts all;
  for (std::uint64_t seed; seeds.next(seed);) {
    INFO("again: MUSTER_POWER_SEEDS=1 MUSTER_POWER_SEED=" << seed);
    const PowerLives::Counts counts = live(seed, {});
    CAPTURE(counts.first_bad);
    REQUIRE(counts.bad == 0);
    all.cuts += counts.cuts;
    all.empty += counts.empty;
    all.beside += counts.beside;
    all.inputs += counts.inputs;
    all.kills += counts.kills;
  }
  const auto number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "seeds %s, %llu of them: %llu inputs, %llu power cuts, %llu before there was a world, %llu that left more than "
      "was "
      "told; %llu kills\n",
      seeds.text().c_str(), number(seeds.done()), number(all.inputs), number(all.cuts), number(all.empty),
      number(all.beside), number(all.kills));
  // One seed that is repeated may have none.
  if (all.cuts >= 60) CHECK(all.beside > 0);
  CHECK(all.kills > 0);
}

TEST_CASE("a disk that syncs nothing loses what was durable") {
  CHECK(bad_cuts({.file_syncs = false, .directory_syncs = false}, 6) > 10);
}

TEST_CASE("a disk that syncs no names loses worlds that were durable") {
  CHECK(bad_cuts({.directory_syncs = false}, 6) > 3);
}

TEST_CASE("what the log says that was written is what the files hold") {
  const Folder folder(memory_disk());
  const Folder told(memory_disk());
  PowerLog log(folder.path().string());
  {
    World world(folder / "w.muster", {},
                {.hz = 100'000, .durability = Durability::each_flush, .autosave = {}, .merge_bytes = 4000});
    for (int i = 0; i < 20; ++i) {
      (void)world.registry().create("thing" + std::to_string(i));
      if (i % 5 == 0) world.save();
      (void)world.next_frame();
    }
    log.copy(log.events(), told.path().string());
    CHECK(told.names() == folder.names());
    CHECK(told.names().size() > 3);
  }
  const Folder after(memory_disk());
  log.copy(log.events(), after.path().string());
  REQUIRE(after.names() == folder.names());
  for (const std::string& name : after.names()) CHECK(read_file(after / name) == read_file(folder / name));
}
