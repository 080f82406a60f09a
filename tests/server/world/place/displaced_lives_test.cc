// Worlds that are edited all the time by a process of their own, whose file or -wal is moved, replaced, cut off, written over or deleted at a
// random moment, and which is killed after that: 30 in tools/test, 1000 in tools/soak.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <new>
#include <random>
#include <thread>

#include "server/world/file/world_file.h"
#include "server/world/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/run_sql.h"
#include "tests/support/folder.h"
#include "tests/support/seeds.h"

using namespace muster;
using namespace muster::test;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

/// What the process that edits says, in memory that is shared with it.
struct Told {
  std::atomic<std::uint64_t> pushed = 0, durable = 0;
  std::atomic<bool> refuses = false, rescued = false;
};

[[noreturn]] void live(const std::string& path, Told& told) {
  try {
    World world(path,
                [](EntityRegistry& registry) -> Handlers {
                  registry.add_type<game::Health>();
                  return {};
                },
                {.hz = 2000, .durability = Durability::each_flush, .autosave = {}});
    EntityRegistry& registry = world.registry();
    if (world.is_new()) {
      for (int i = 0; i < 2000; ++i) registry.create("e" + std::to_string(i), game::Health{}).or_stop();
      world.save();
    }
    while (const Frame frame = world.next_frame()) {
      registry.create(game::Health{.value = static_cast<float>(frame.tick)});
      told.pushed.store(registry.sequence());
      told.durable.store(world.durable_sequence());
      if (const std::string* const error = world.recording_error()) {
        told.refuses = true;
        if (error->find("-rescued") != std::string::npos) told.rescued = true;
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the world ended: %s\n", error.what());
  }
  ::_exit(1);
}

/// The last input that the world at `path` has; 0: it does not open.
std::uint64_t last_of(const std::string& path, std::string& why) {
  auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
  if (file) {
    auto loaded = file->load([](StateSource& source) -> std::expected<void, StateError> {
      EntityRegistry registry;
      if (auto read = registry.load(source); !read) return std::unexpected(std::move(read.error()));
      return {};
    });
    if (loaded) {
      const auto journal = file->journal([](const JournalGroup&) { return true; });
      if (journal) return file->durable();
      why += journal.error().what();
    } else {
      why += loaded.error().what();
    }
  } else {
    why += file.error().what();
  }
  return 0;
}

enum class Way {
  moved,
  replaced,
  deleted,
  cut_off,
  written_over,
  wal_deleted,
  wal_moved,
  wal_replaced,
  wal_cut_off,
  last = wal_cut_off
};
/// Those after which all that was durable still lies there.
bool loses_nothing(Way way) { return way == Way::moved || way == Way::replaced || way == Way::wal_moved; }

struct Life {
  Life(const std::string& base, std::uint64_t seed) : random(seed) {
    fs::copy_file(base, path);
    fs::copy_file(base, older);
    told = ::new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Told;
    child = ::fork();
    if (child == 0) live(path, *told);
    wait([&] { return told->durable > 0; });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
  }
  ~Life() {
    kill();
    ::munmap(told, sizeof(Told));
  }
  void kill() {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(std::exchange(child, 0), nullptr, 0);
  }
  template <class F>
  bool wait(F&& until, std::chrono::seconds most = std::chrono::seconds(20)) {
    const auto end = Clock::now() + most;
    while (!until() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return until();
  }
  void displace(Way way) {
    switch (way) {
      case Way::moved: fs::rename(path, moved); break;
      case Way::replaced:
        fs::rename(path, moved);
        fs::rename(older, path);
        break;
      case Way::deleted: fs::remove(path); break;
      case Way::cut_off: fs::resize_file(path, random() % fs::file_size(path)); break;
      case Way::written_over: fs::copy_file(older, path, fs::copy_options::overwrite_existing); break;
      case Way::wal_deleted: fs::remove(wal); break;
      case Way::wal_moved: fs::rename(wal, wal + "-moved"); break;
      case Way::wal_replaced:
        write_file(wal + "2", read_file(wal));
        fs::rename(wal + "2", wal);
        break;
      case Way::wal_cut_off: fs::resize_file(wal, random() % (fs::file_size(wal) + 1)); break;
    }
  }
  std::mt19937_64 random;
  const Folder folder;
  const std::string path = folder / "w.muster", wal = path + "-wal", moved = folder / "moved.muster",
                    older = folder / "older.muster";
  Told* told = nullptr;
  pid_t child = 0;
};

std::string made_base(const Folder& folder) {
  const std::string path = folder / "base.muster";
  World world(path,
              [](EntityRegistry& registry) -> Handlers {
                registry.add_type<game::Health>();
                return {};
              },
              {});
  for (int i = 0; i < 2000; ++i) world.registry().create("e" + std::to_string(i), game::Health{}).or_stop();
  world.save();
  return path;
}

}  // namespace

TEST_CASE(
    "whatever is done to a world's file or its -wal, nothing that begins after it is told durable, and what was is "
    "there") {
  const bool soaks = number_in("MUSTER_SOAK_MINUTES", 0) > 0;
  const std::uint64_t first = soaks ? new_seed() : 1, rounds = soaks ? 1000 : 30;
  const Folder folder;
  const std::string base = made_base(folder);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    const Way way = static_cast<Way>(seed % (static_cast<std::uint64_t>(Way::last) + 1));
    CAPTURE(seed, static_cast<int>(way));
    Life life(base, seed);
    const std::uint64_t told_before = life.told->durable;
    life.displace(way);
    const std::uint64_t pushed = life.told->pushed + 1;  // one may be on its way
    const bool at_once = loses_nothing(way) && life.random() % 2;
    // What was cut off of the -wal may be behind its end, and the older copy what the file still is.
    const bool refuses = !at_once && life.wait([&] { return life.told->rescued.load(); }, std::chrono::seconds(4));
    const bool may_lose_nothing = way == Way::written_over || way == Way::wal_cut_off;
    if (!may_lose_nothing && !at_once) REQUIRE(refuses);
    if (at_once) std::this_thread::sleep_for(std::chrono::microseconds(life.random() % 50'000));
    life.kill();
    const std::uint64_t told = life.told->durable;
    CAPTURE(refuses, told_before, pushed, told);
    std::string why;
    if (!refuses && !at_once) {
      if (last_of(life.path, why) < told) FAIL(why);
      continue;
    }
    REQUIRE(told <= pushed);
    if (refuses && last_of(life.folder / "w-rescued.muster", why) < told) FAIL(why);
    if (!loses_nothing(way)) continue;
    if (way == Way::wal_moved)
      fs::rename(life.wal + "-moved", life.wal);
    else
      fs::rename(life.wal, life.moved + "-wal");
    if (last_of(way == Way::wal_moved ? life.path : life.moved, why) < told_before) FAIL(why);
  }
}

TEST_CASE("what does not change a world's content leaves its edits durable") {
  const Folder folder;
  const std::string base = made_base(folder);
  Life life(base, 5);
  const auto goes_on = [&] {
    const std::uint64_t pushed = life.told->pushed;
    CHECK(life.wait([&] { return life.told->durable > pushed + 50; }));
    CHECK_FALSE(life.told->refuses);
  };
  for (const std::string& each : {life.path, life.wal}) {
    ::chmod(each.c_str(), 0600);
    goes_on();
    REQUIRE(::utimensat(AT_FDCWD, each.c_str(), nullptr, 0) == 0);
    goes_on();
  }
  REQUIRE(::link(life.path.c_str(), (life.folder / "link.muster").c_str()) == 0);
  goes_on();
  fs::remove(life.folder / "link.muster");
  for (const char* part : {"", "-wal"}) fs::copy_file(life.path + part, life.folder / ("backup" + std::string(part)));
  goes_on();
  for (int i = 0; i < 5; ++i) {
    run_sql(life.path, "SELECT count(*) FROM state");
    goes_on();
    run_sql(life.path, "CREATE TABLE IF NOT EXISTS notes(text); INSERT INTO notes VALUES('a')");
    goes_on();
  }
  life.kill();
  std::string why;
  if (last_of(life.path, why) < life.told->durable) FAIL(why);
}
