// The journal is bounded, whatever saves the world and whether it can be saved.
#include <catch2/catch.hpp>
#include <cstdint>

#include "tests/server/world/saved_registry.h"
#include "tests/server/world/write_lock.h"

namespace journal_size_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

using Time = Saver::Clock::time_point;
const Time start = Saver::Clock::now() + 1h;
constexpr std::uint64_t mib = 1u << 20;

/// An input of 336 KiB and a bit.
void push_much(Saved& world) {
  for (int i = 0; i < 1000; ++i) world.registry.push(world.unit, game::Blob{});
}

}  // namespace

TEST_CASE("the size of a journal counts what came since the save that succeeded was begun") {
  JournalSize size(1000);
  size.add(799);
  CHECK_FALSE(size.wants_save());
  size.add(1);
  CHECK(size.wants_save());
  CHECK_FALSE(size.is_full());
  size.save_begun();
  size.add(200);
  CHECK(size.is_full());  // that save may fail
  size.save_begun();
  CHECK(size.bytes() == 1000);
  size.add(7);
  size.save_succeeded();
  CHECK(size.bytes() == 7);
  JournalSize unbounded(0);
  unbounded.add(~std::uint64_t{0});
  CHECK_FALSE(unbounded.wants_save());
  CHECK_FALSE(unbounded.is_full());
}

TEST_CASE(
    "at four fifths of the bytes that a journal may have the world is saved, though nobody asked, and it is said "
    "once") {
  Saved world(Durability::each_flush, 0ns, 4 * mib);
  world.first_save();
  const std::uint64_t saved = world.saver.saved();
  Time now = start;
  while (world.saver.journal_bytes() < 4 * mib / 5 * 4) {
    REQUIRE_FALSE(world.saver.is_saving());
    REQUIRE(world.warnings.empty());
    push_much(world);
    world.write_due_idle(now += 1ms);
    world.wait_durable();
  }
  CHECK(world.saver.saved() == saved);
  CHECK(world.saver.size_warning() == "the journal has 3 MiB behind the last save, of 4 MiB that are allowed");
  world.push();
  world.write_due_idle(now += 1ms);
  CHECK(world.saver.is_saving());
  world.wait([&] { return !world.saver.is_saving(); });
  CHECK(world.saver.saved() == world.registry.sequence());
  CHECK(world.saver.journal_bytes() == 0);
  CHECK(world.warnings == std::vector<std::string>{"the journal has 3 MiB behind the last save, of 4 MiB that are "
                                                   "allowed: the world is saved now"});
  CHECK(world.saver.size_warning().empty());
  CHECK(world.saver.error() == nullptr);
  // The file has no more than is counted.
  world.push();
  world.write_due_idle(now += 1ms);
  world.wait_durable();
  CHECK(world.saver.journal_bytes() > 0);
  CHECK(world.saver.journal_bytes() < 1000);
}

TEST_CASE("a journal that is full waits for the save that is under way") {
  Saved world(Durability::each_flush, 0ns, mib);
  world.first_save();
  for (int i = 0; i < 8; ++i) push_much(world);
  world.saver.write_due(start);
  CHECK(world.saver.journal_bytes() > mib);
  world.saver.write_due(start + 1ms);
  CHECK_FALSE(world.saver.is_saving());
  CHECK(world.saver.journal_bytes() == 0);
  CHECK(world.saver.saved() == world.registry.sequence());
}

TEST_CASE("however often a world is saved, or a save is given up, its file has no more than two states and a journal") {
  const bool given_up = GENERATE(false, true);
  CAPTURE(given_up);
  Saved world(Durability::each_flush, 0ns, 0, given_up ? 64u << 10 : 256u << 20);
  std::vector<Entity> many = world.registry.create_many(20'000, game::Health{.value = 1}, game::Armor{.factor = 1});
  world.first_save();
  const auto pages = [&](const char* of) {
    return std::stoull(run_sql(world.directory / "w.muster", std::string("PRAGMA ") + of));
  };
  const std::uint64_t first = pages("page_count");
  Time now = start;
  for (int save = 0; save < 12; ++save) {
    const auto change = [&] {
      for (const Entity e : many)
        world.registry.set(e, game::Health{.value = static_cast<float>(save)}, game::Armor{.factor = 2});
    };
    change();
    bool told = false;
    REQUIRE(world.saver.begin([&](const Saver::Report& report) { told = report.has_value(); }));
    change();
    world.write_due_idle(now += 1ms);
    world.wait([&] { return told; });
    world.wait_durable();
  }
  CHECK(world.warnings.empty() != given_up);
  world.first_save();
  CHECK(run_sql(world.directory / "w.muster", "SELECT count(*) FROM state") ==
        run_sql(world.directory / "w.muster", "SELECT value FROM meta WHERE name = 'rows'"));
  CHECK(run_sql(world.directory / "w.muster", "SELECT count(*) FROM journal") == "0\n");
  const std::uint64_t journal = 12 * 2 * 20'000 * 64ull / 4096;  // a set is an input of its own, and none went before
  CHECK(pages("page_count") < 2 * first + journal);
  CHECK(world.saver.held_bytes() == 0);
}

TEST_CASE("what another program that reads keeps in the -wal is said once, and once more when it comes again") {
  Saved world(Durability::each_flush, 0ns, 20 * mib);
  world.first_save();
  const auto save_much = [&] {
    for (int i = 0; i < 4; ++i) {
      push_much(world);
      world.write_due_idle(Saver::Clock::now());
      world.wait_durable();
    }
    world.first_save();
    world.saver.write_due(Saver::Clock::now());
  };
  for (int times = 1; times <= 2; ++times) {
    for (int i = 0; i < 20; ++i) save_much();
    REQUIRE(world.saver.held_bytes() == 0);
    REQUIRE(world.warnings.size() == static_cast<std::size_t>(times - 1));
    REQUIRE(world.saver.size_warning().empty());
    const ReadLock reads(world.directory / "w.muster");
    for (int i = 0; i < 100 && world.saver.held_bytes() < 40 * mib; ++i) {
      save_much();
      REQUIRE(world.warnings.size() ==
              static_cast<std::size_t>(world.saver.held_bytes() < 16 * mib ? times - 1 : times));
    }
    REQUIRE(world.saver.held_bytes() >= 40 * mib);
    CHECK(world.warnings.back().starts_with("another program reads the file as it was: "));
    CHECK(world.warnings.back().ends_with(" MiB, and grows until that ends"));
    CHECK(world.saver.size_warning().starts_with("another program reads the file as it was: "));
    CHECK(world.saver.error() == nullptr);
  }
}

TEST_CASE(
    "where a world cannot be saved its journal ends at its bound, edits are refused, and it goes on when it can") {
  Saved world(Durability::each_flush, 0ns, 2 * mib);
  world.first_save();
  // A file in which no row can stand beside the one it replaces, and groups can.
  world.edit("CREATE UNIQUE INDEX narrow ON state(section, key, column_)");
  world.first_save();
  Time now = start;
  while (!world.saver.error()) {
    push_much(world);
    world.saver.write_due(now += 10ms);
    world.wait([&] { return !world.saver.is_saving(); });
    REQUIRE(world.saver.journal_bytes() < 4 * mib);
  }
  CHECK(world.saver.journal_bytes() >= 2 * mib);
  CHECK(world.saver.error()->find("the journal has 2 MiB behind the last save, which is the limit, and the world "
                                  "could not be saved: ") != std::string::npos);
  CHECK(world.warnings.size() == 1);
  const std::uint64_t durable = world.saver.durable();
  const std::uint64_t bytes = world.saver.journal_bytes();
  for (int i = 0; i < 10; ++i) {
    push_much(world);
    world.saver.write_due(now += 10ms);
  }
  CHECK(world.saver.durable() == durable);
  CHECK(world.saver.journal_bytes() == bytes);
  CHECK(world.saver.due());  // it is tried again, though nothing is recorded

  world.edit("DROP INDEX narrow");
  world.saver.write_due(now + 2s);
  world.wait([&] { return !world.saver.is_saving(); });
  CHECK(world.saver.error() == nullptr);
  CHECK(world.saver.saved() == world.registry.sequence());
  CHECK(world.saver.journal_bytes() < mib);
  world.push();
  world.write_due_idle(now + 3s);
  world.wait_durable();
}

}  // namespace journal_size_test
