// A world whose process dies again and again at one input: it opens stopped before that, and goes on without it when told so.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "include/muster/world.h"
#include "messages/batch_builder.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;

namespace {

/// What the handler of Damage does where that is 666, and how many hops a Ping has that it dies of.
bool bombs = false;
std::uint32_t deadly_ping = ~0u;
std::uint32_t hanging_ping = ~0u;  // the one that is not returned from while `hangs`
std::atomic<bool> hangs = true;

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {registry.subscribe("hit",
                             [](const game::Damage& hit, game::Health& health) {
                               if (bombs && hit.amount == 666) die();
                               health.value -= hit.amount;
                             }),
          registry.subscribe("tick", [](const game::Ping& ping, game::Health& health) {
            if (ping.hops == deadly_ping) die();
            while (ping.hops == hanging_ping && hangs) ::usleep(1000);
            health.value += 1;
          })};
}

WorldOptions recorded(std::string code = "game 1") {
  return {.hz = 20'000, .code = std::move(code), .durability = Durability::each_flush, .autosave = {}};
}

/// Ticks until this one, each with a Ping of that number.
void tick_until(World& world, std::uint64_t tick) {
  while (world.tick() < tick) {
    const Frame frame = world.next_frame();
    REQUIRE(frame);
    world.registry().push(game::Ping{.hops = static_cast<std::uint32_t>(frame.tick)});
  }
}

void edit(World& world, Entity e, float amount) {
  BatchBuilder builder;
  builder.append(e, game::Damage{.amount = amount});
  world.registry().host().push_batch(builder.bytes(), {.session = 7, .request = 1});
}

/// Does it in a process of its own, and says whether that died of it.
template <class Work>
bool dies(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

/// A world of one entity, with 10 ticks, the deadly edit, an edit of 4, and 10 ticks behind it, all in the journal; its process was killed.
struct Bombed {
  explicit Bombed(const std::string& at) : path(at) {
    REQUIRE(dies([&] {
      World world(path, install, recorded());
      const Entity made = world.registry().create("e", game::Health{.value = 1000});
      world.save();
      tick_until(world, 10);
      edit(world, made, 666);
      edit(world, made, 4);
      tick_until(world, 20);
      for (const std::uint64_t last = world.registry().sequence(); world.durable_sequence() < last;)
        (void)world.next_frame();
      die();
    }));
    World world(path, install, recorded());
    e = world.registry().find_path("/e");
    CHECK(world.stopped() == nullptr);
    CHECK(world.stopped_before() == 0);
    whole = world.registry().get<game::Health>(e).value;
  }
  /// Opens the world where the edit is deadly.
  bool start_dies() const {
    return dies([&] {
      bombs = true;
      const World world(path, install, recorded());
    });
  }
  std::string path;
  Entity e;
  float whole = 0;
};

}  // namespace

TEST_CASE(
    "a world whose process dies twice while an input is done again opens stopped before it, and skips it when told "
    "so") {
  const Directory directory;
  const Bombed bombed(directory / "w.muster");
  REQUIRE(bombed.start_dies());
  REQUIRE(bombed.start_dies());
  CHECK_FALSE(bombed.start_dies());
  std::uint64_t sequence = 0;
  for (int start = 0; start < 2; ++start) {
    World world(bombed.path, install, recorded());
    REQUIRE(world.stopped());
    sequence = world.stopped_before();
    CAPTURE(*world.stopped());
    const std::string number = std::to_string(sequence);
    CHECK(world.stopped()->starts_with("it stands before input " + number + " (game.Damage to #"));
    CHECK(world.stopped()->find(", of session 7): its process died 2 times while it was handled") != std::string::npos);
    CHECK(world.stopped()->find("start with --skip " + number + ";") != std::string::npos);
    CHECK(world.registry().sequence() == sequence - 1);
    CHECK(world.tick() == 10);
    CHECK(world.registry().get<game::Health>(bombed.e).value == 1010);
    // Nothing is kept of what happens now.
    REQUIRE(world.recording_error());
    CHECK(*world.recording_error() == *world.stopped());
    CHECK(world.pace().paused);
    CHECK_FALSE(world.set_pace({.paused = false}));
    CHECK_FALSE(world.set_pace({.paused = true, .steps = 1}));
    edit(world, bombed.e, 1);
    edit(world, bombed.e, 1);
    const auto saved = world.try_save();
    REQUIRE_FALSE(saved);
    CHECK(saved.error().code() == WorldErrorCode::stopped);
    bool told = false;
    CHECK(world.begin_save([&](const auto& report) { told = !report; }));
    CHECK(told);
    world.stop();
    CHECK_FALSE(world.next_frame());
  }
  const std::string before = read_file(bombed.path);
  for (const std::uint64_t other : {sequence - 1, sequence + 1}) {
    WorldOptions options = recorded();
    options.skip = other;
    try {
      const World world(bombed.path, install, options);
      FAIL("another input was left out");
    } catch (const WorldError& error) {
      CHECK(error.code() == WorldErrorCode::stopped);
      CHECK(error.detail() == "input " + std::to_string(other) +
                                  " cannot be left out: the world does not stand before it, but before input " +
                                  std::to_string(sequence));
    }
  }
  CHECK(read_file(bombed.path) == before);
  std::uint64_t hash = 0, last = 0;
  {
    WorldOptions options = recorded();
    options.skip = sequence;
    const World world(bombed.path, install, options);
    CHECK(world.stopped() == nullptr);
    CHECK(world.registry().get<game::Health>(bombed.e).value == 1006);  // the edit behind it, and no tick
    CHECK(world.recovery_report().skipped.at(0).starts_with("input " + std::to_string(sequence) + " (game.Damage"));
    CHECK(world.recovery_report().edits == 1);
    CHECK(world.recovery_report().ticks_lost >= 10);
    CHECK(world.durable_sequence() == world.registry().sequence());
    hash = world.registry().hash();
    last = world.registry().sequence();
  }
  CHECK(directory.names() == std::vector<std::string>{"w.muster", "w.muster-lock"});
  bombs = true;
  const World world(bombed.path, install, recorded());
  bombs = false;
  CHECK(world.stopped() == nullptr);
  CHECK(world.recovery_report().text().empty());
  CHECK(world.registry().hash() == hash);
  CHECK(world.registry().sequence() == last);
}

TEST_CASE("a world with several inputs that its process dies of goes on without each of them, one after the other") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  REQUIRE(dies([&] {
    World world(path, install, recorded());
    const Entity made = world.registry().create("e", game::Health{.value = 1000});
    world.save();
    tick_until(world, 10);
    for (int i = 0; i < 3; ++i) {
      edit(world, made, 666);
      edit(world, made, 4);
    }
    for (const std::uint64_t last = world.registry().sequence(); world.durable_sequence() < last;)
      (void)world.next_frame();
    die();
  }));
  bombs = true;
  const auto ends_well = [&](std::uint64_t skip) {
    return !dies([&] {
      WorldOptions options = recorded();
      options.skip = skip;
      const World world(path, install, options);
    });
  };
  std::uint64_t skip = 0, skipped = 0;
  for (int bomb = 0; bomb < 3; ++bomb) {
    CAPTURE(bomb, skip);
    REQUIRE_FALSE(ends_well(skip));
    REQUIRE_FALSE(ends_well(skip));
    const World world(path, install, recorded());
    REQUIRE(world.stopped());
    CAPTURE(*world.stopped());
    CHECK(world.stopped_before() > skip);
    CHECK(world.registry().sequence() == world.stopped_before() - 1);
    skip = world.stopped_before();
    CHECK(world.stopped()->find("start with --skip " + std::to_string(skip) + ";") != std::string::npos);
    CHECK(world.registry().get<game::Health>(world.registry().find_path("/e")).value ==
          1010 - 4 * static_cast<float>(skipped));
    ++skipped;
  }
  WorldOptions options = recorded();
  options.skip = skip;
  std::uint64_t hash = 0;
  {
    const World world(path, install, options);
    CHECK(world.stopped() == nullptr);
    CHECK(world.registry().get<game::Health>(world.registry().find_path("/e")).value == 1010 - 12);
    hash = world.registry().hash();
  }
  const World world(path, install, recorded());
  bombs = false;
  CHECK(world.stopped() == nullptr);
  CHECK(world.recovery_report().text().empty());
  CHECK(world.registry().hash() == hash);
}

TEST_CASE("a world is not stopped where its process died once, or of other code, or where nobody knows of it") {
  const Directory directory;
  const Bombed bombed(directory / "w.muster");
  REQUIRE(bombed.start_dies());
  {
    const World world(bombed.path, install, recorded());
    CHECK(world.stopped() == nullptr);
    CHECK(world.registry().get<game::Health>(bombed.e).value == bombed.whole);
  }
  // It was passed: the count begins anew.
  REQUIRE(bombed.start_dies());
  {
    const World world(bombed.path, install, recorded());
  }
  REQUIRE(bombed.start_dies());
  REQUIRE(bombed.start_dies());
  SECTION("other code") {
    const World world(bombed.path, install, recorded("game 2"));
    CHECK(world.stopped() == nullptr);
    CHECK(world.registry().get<game::Health>(bombed.e).value == 1000 - 666 - 4);
  }
  SECTION("the file that knows is gone") {
    ::unlink((bombed.path + "-work").c_str());
    CHECK(World(bombed.path, install, recorded()).stopped() == nullptr);
  }
  SECTION("it belongs to another world") {
    const std::string other = directory / "other.muster";
    const Bombed another(other);
    std::filesystem::copy_file(bombed.path + "-work", other + "-work",
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(World(other, install, recorded()).stopped() == nullptr);
  }
  SECTION("nothing can be skipped where nothing is stopped") {
    ::unlink((bombed.path + "-work").c_str());
    WorldOptions options = recorded();
    options.skip = 12;
    CHECK_THROWS_WITH(World(bombed.path, install, options),
                      Catch::EndsWith("input 12 cannot be left out: the world does not stand before it"));
  }
}

TEST_CASE("a world whose process dies twice in one tick opens stopped before it, whatever was recorded of it") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const auto durability = GENERATE(Durability::each_flush, Durability::checkpoint);
  WorldOptions options = recorded();
  options.durability = durability;
  {
    World world(path, install, options);
    (void)world.registry().create("e", game::Health{.value = 1000});
    world.save();
    tick_until(world, 5);
    world.save();
  }
  const auto run = [&](std::uint64_t more) {
    return dies([&] {
      deadly_ping = 30;
      World world(path, install, options);
      // Sessions bring another number of inputs each time.
      for (std::uint64_t i = 0; i < more; ++i) edit(world, world.registry().find_path("/e"), 0);
      tick_until(world, 40);
    });
  };
  REQUIRE(run(3));
  REQUIRE(run(11));
  CHECK_FALSE(dies([&] {
    const World world(path, install, options);
    if (!world.stopped() || world.tick() >= 30) die();
  }));
  std::uint64_t sequence = 0;
  {
    World world(path, install, options);
    REQUIRE(world.stopped());
    CAPTURE(*world.stopped());
    sequence = world.stopped_before();
    CHECK(world.stopped()->find(" in tick 30: its process died 2 times") != std::string::npos);
    CHECK(world.registry().sequence() < sequence);
    world.stop();
    CHECK_FALSE(world.next_frame());
  }
  options.skip = sequence;
  World world(path, install, options);
  CHECK(world.stopped() == nullptr);
  tick_until(world, 40);
}

TEST_CASE("whatever the file of marks holds, a world opens") {
  const Directory directory;
  const Bombed bombed(directory / "w.muster");
  REQUIRE(bombed.start_dies());
  REQUIRE(bombed.start_dies());
  const std::string work = bombed.path + "-work", bytes = read_file(work);
  REQUIRE(bytes.size() == 4096);
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    std::string other = bytes;
    if (round % 3 == 0)
      other.resize(random() % other.size());
    else
      other[random() % 200] ^= static_cast<char>(1 << random() % 8);
    write_file(work, other);
    const World world(bombed.path, install, recorded());
    CHECK((world.stopped() || world.registry().get<game::Health>(bombed.e).value == bombed.whole));
  }
  ::unlink(work.c_str());
  std::filesystem::create_directory(work);
  CHECK(World(bombed.path, install, recorded()).stopped() == nullptr);
}

TEST_CASE("20 crashes leave no ids to sessions that are gone, and the clock of a world that never crashed") {
  const Directory directory;
  const std::string path = directory / "w.muster", whole_path = directory / "whole.muster";
  // None dies in the tick that the one before it died in: the world would open stopped before that.
  auto* const died_in = static_cast<std::uint64_t*>(
      ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(died_in != MAP_FAILED);
  for (std::uint64_t start = 0; start < 20; ++start)
    REQUIRE(dies([&] {
      World world(path, install, recorded());
      if (world.is_new()) world.save();
      for (std::uint64_t session = 1; session <= 3; ++session) {
        (void)world.next_frame();
        (void)world.registry().host().grant(100, session);
      }
      tick_until(world, std::max(start * 7 + 7, *died_in + 1));
      if (start % 3 == 0) world.save();
      for (const std::uint64_t last = world.registry().sequence(); world.durable_sequence() < last;)
        (void)world.next_frame();
      *died_in = world.tick();
      die();
    }));
  ::munmap(died_in, sizeof(std::uint64_t));
  World world(path, install, recorded()), whole(whole_path, install, recorded());
  REQUIRE(world.next_frame());
  CHECK(world.registry().host().left_grants().empty());
  const Entity first = world.registry().host().grant(300, 9);
  CHECK(first.index <= 1300);
  REQUIRE(world.tick() >= 140);
  tick_until(whole, world.tick());
  CHECK(world.registry().now_ns() == whole.registry().now_ns());
}

TEST_CASE("a world that was killed while a handler did not return opens stopped before that input") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  WorldOptions watched = recorded();
  watched.watchdog = std::chrono::milliseconds(300);
  watched.on_hang = [](const std::string&) { die(); };
  SECTION("in a tick, whatever was recorded of it") {
    watched.durability = GENERATE(Durability::each_flush, Durability::checkpoint);
    const auto run = [&] {
      return dies([&] {
        World world(path, install, watched);
        if (world.is_new()) {
          (void)world.registry().create("e", game::Health{.value = 1000});
          world.save();
        }
        hanging_ping = 12;
        tick_until(world, 30);
      });
    };
    REQUIRE(run());
    WorldOptions options = watched;
    options.on_hang = {};
    std::uint64_t sequence = 0;
    {
      const World world(path, install, options);
      REQUIRE(world.stopped());
      CAPTURE(*world.stopped());
      CHECK(world.stopped()->find(" in tick 12: a handler did not return from it. That input is not in the file") !=
            std::string::npos);
      CHECK(world.tick() < 12);
      sequence = world.stopped_before();
    }
    options.skip = sequence;
    World world(path, install, options);
    CHECK(world.stopped() == nullptr);
    tick_until(world, 30);
  }
  SECTION("while the journal is done again") {
    const Bombed bombed(path);
    REQUIRE(dies([&] {
      hanging_ping = 15;
      const World world(path, install, watched);
    }));
    const World world(path, install, recorded());
    REQUIRE(world.stopped());
    CAPTURE(*world.stopped());
    CHECK(world.stopped()->find(" (game.Ping, of the server): a handler did not return from it. Nothing is written") !=
          std::string::npos);
    CHECK(world.tick() == 15);
  }
}

TEST_CASE("a world that stands before a tick says what is due in it, how that is taken back, and what the file holds") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  WorldOptions watched = recorded();
  watched.watchdog = std::chrono::milliseconds(300);
  watched.on_hang = [](const std::string&) { die(); };
  std::uint64_t timer = 0, saved = 0;
  {
    World world(path, install, watched);
    const Entity made = world.registry().create("e", game::Health{.value = 1000});
    timer = world.registry().post_at(12'000'000, made, game::Ping{.hops = 777});
    (void)world.registry().post_at(60'000'000'000, made, game::Ping{.hops = 1});
    world.save();
    tick_until(world, 5);
    world.save();
    saved = world.saved_sequence();
  }
  REQUIRE(dies([&] {
    World world(path, install, watched);
    tick_until(world, 100);
    for (const std::uint64_t last = world.registry().sequence(); world.durable_sequence() < last;)
      (void)world.next_frame();
    hanging_ping = 777;
    tick_until(world, 300);
  }));
  const std::string cancel = "muster push @world CancelTimer timer=" + std::to_string(timer);
  std::uint64_t sequence = 0;
  {
    const World world(path, install, recorded());
    REQUIRE(world.stopped());
    const std::string& why = *world.stopped();
    CAPTURE(why);
    sequence = world.stopped_before();
    CHECK(why.find(" in tick 240: a handler did not return from it") != std::string::npos);
    CHECK(why.find("start with --skip " + std::to_string(sequence) + " --paused: the tick comes again") !=
          std::string::npos);
    CHECK(why.find("by then these are due: timer " + std::to_string(timer) + " (game.Ping). `" + cancel + "`") !=
          std::string::npos);
    CHECK(world.saved_sequence() == saved);
    CHECK(world.registry().sequence() > saved);
    CHECK(world.durable_sequence() == world.registry().sequence());
  }
  WorldOptions options = recorded();
  options.skip = sequence;
  World world(path, install, options);
  CHECK(world.stopped() == nullptr);
  CHECK(world.recovery_report().text().find("input " + std::to_string(sequence) +
                                            " (muster.Advance, of the server) in tick 240 is not in the file, so "
                                            "nothing was left out: it comes again with the clock") !=
        std::string::npos);
  world.registry().push(CancelTimer{.timer = timer});
  tick_until(world, 250);
}

TEST_CASE("a world is not stopped before an input that a handler returned from at last") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  REQUIRE(dies([&] {
    WorldOptions watched = recorded();
    watched.watchdog = std::chrono::milliseconds(50);
    std::atomic<int> told = 0;
    watched.on_hang = [&](const std::string&) {
      hangs = false;
      ++told;
    };
    World world(path, install, watched);
    (void)world.registry().create("e", game::Health{.value = 1000});
    world.save();
    hanging_ping = 12;
    tick_until(world, 12);
    while (told < 2) (void)world.next_frame();
    world.save();
    world.registry().push(game::Ping{.hops = 1});
    die();
  }));
  const World world(path, install, recorded());
  CHECK(world.stopped() == nullptr);
  CHECK(world.tick() >= 12);
}

TEST_CASE("if the process dies twice of an input of a run, the level opens without it, and edits of it can be undone") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  REQUIRE(dies([&] {
    World world(path, install, recorded());
    const Entity e = world.registry().create("e", game::Health{.value = 1000});
    world.save();
    if (!world.play()) ::_exit(1);
    tick_until(world, 5);
    edit(world, e, 666);
    world.registry().flush();
    for (const std::uint64_t last = world.registry().sequence(); world.durable_sequence() < last;)
      (void)world.next_frame();
    die();
  }));
  for (int start = 0; start < 2; ++start)
    REQUIRE(dies([&] {
      bombs = true;
      const World world(path, install, recorded());
    }));
  WorldOptions as_level = recorded();
  as_level.level = true;
  bombs = true;
  World world(path, install, as_level);
  bombs = false;
  CHECK(world.stopped() == nullptr);
  CHECK(!world.run());
  const Entity e = world.registry().find_path("/e");
  CHECK(world.registry().get<game::Health>(e).value == 1000);
  const Sender by{.session = 7, .user = 1, .request = 1};
  BatchBuilder batch;
  batch.append_rows(e, Set{}, game::Health{.value = 5});
  world.registry().host().push_batch(batch.bytes(), by);
  REQUIRE(world.history().steps(1, HistoryAct::undo) == 1);
  CHECK(world.history().apply(HistoryAct::undo, by, Conflicts::skip, false).done == 1);
  CHECK(world.registry().get<game::Health>(e).value == 1000);
}
