// Worlds in PostgreSQL: recovery, undo, runs, past states, a lost database, copies.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "registry/host.h"
#include "server/file_program/copy.h"
#include "server/postgres/pg_store.h"
#include "server/world/file/sqlite_database.h"
#include "server/world/world.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"
#include "tests/support/postgres.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

Postgres& postgres() {
  static Postgres server;
  return server;
}

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {registry.subscribe("hit", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; })};
}

/// Of a world in PostgreSQL, whose other files are in `folder`.
WorldOptions options_of(const Folder& folder, milliseconds lease = milliseconds(3000)) {
  WorldOptions options{.durability = Durability::each_flush, .autosave = {}, .past_bytes = 1u << 20};
  options.open_store = [beside = folder / "w.muster", lease](
                           const std::string& address,
                           const StoreOptions& of) -> std::expected<std::unique_ptr<Store>, WorldError> {
    auto store = PgStore::open(address, of, {.lease = lease, .patience = milliseconds(60'000), .beside = beside});
    if (!store) return std::unexpected(std::move(store.error()));
    return std::move(*store);
  };
  return options;
}

float health_of(World& world, Entity unit) {
  const game::Health* const health = world.registry().find<game::Health>(unit);
  return health != nullptr ? health->value : -1;
}

/// Takes what was pushed to the store, without making a tick.
void poll(World& world) { (void)world.poll(std::chrono::duration<double, std::nano>(0)); }

void flush_until_durable(World& world) {
  for (int i = 0; i < 20'000 && world.durable_sequence() != world.registry().sequence(); ++i) {
    poll(world);
    std::this_thread::sleep_for(milliseconds(1));
  }
  REQUIRE(world.durable_sequence() == world.registry().sequence());
}

/// All rows of a world file, as text.
std::string dump(const std::string& path) {
  auto database = SqliteDatabase::open(path, false, {}, path).value();
  std::string all;
  for (const auto& [table, columns] :
       {std::pair("meta", 2), std::pair("state", 7), std::pair("journal", 10), std::pair("codes", 2),
        std::pair("section_names", 2), std::pair("types", 6), std::pair("history", 3)}) {
    auto rows = database.prepare((std::string("SELECT * FROM ") + table + " ORDER BY 1").c_str(), "dumping").value();
    while (rows.step() == SqlStep::row) {
      all += table;
      for (int column = 0; column < columns; ++column) {
        all += '|';
        if (rows.is_blob(column))
          for (const std::byte byte : rows.blob(column)) all += std::to_string(static_cast<int>(byte)) + ',';
        else
          all += rows.is_null(column) ? "null" : rows.text(column);
      }
      all += '\n';
    }
  }
  return all;
}

}  // namespace

TEST_CASE("what was durable in PostgreSQL comes back after the process has died", "[postgres]") {
  const Folder folder;
  const std::string address = postgres().address("died");
  int hashes[2];
  REQUIRE(::pipe(hashes) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    World world(address, install, options_of(folder, milliseconds(600)));
    const Entity unit = world.registry().create("unit", game::Health{.value = 100}).or_stop();
    world.save();
    for (int i = 0; i < 30; ++i) {
      world.registry().push(unit, game::Damage{.amount = 1});
      poll(world);
    }
    for (int i = 0; i < 20'000 && world.durable_sequence() != world.registry().sequence(); ++i) {
      poll(world);
      std::this_thread::sleep_for(milliseconds(1));
    }
    const std::uint64_t hash = world.registry().hash();
    (void)!::write(hashes[1], &hash, sizeof hash);
    ::_exit(0);  // without any destructor, like a process that was killed
  }
  ::close(hashes[1]);
  std::uint64_t hash = 0;
  CHECK(::read(hashes[0], &hash, sizeof hash) == sizeof hash);
  ::close(hashes[0]);
  ::waitpid(child, nullptr, 0);
  World world(address, install, options_of(folder, milliseconds(600)));
  CHECK(world.registry().hash() == hash);
  CHECK(world.recovery_report().inputs > 0);
}

TEST_CASE("a run of a world in PostgreSQL ends at its level", "[postgres]") {
  const Folder folder;
  const std::string address = postgres().address("level");
  Entity unit;
  {
    World world(address, install, options_of(folder));
    unit = world.registry().create("unit", game::Health{.value = 100}).or_stop();
    world.save();
    REQUIRE(world.play());
    world.registry().push(unit, game::Damage{.amount = 7});
    flush_until_durable(world);
    world.save();
  }
  {
    World world(address, install, options_of(folder));
    CHECK(world.run());
    CHECK(health_of(world, unit) == 93);
  }
  WorldOptions as_level = options_of(folder);
  as_level.level = true;  // ends the run
  World world(address, install, as_level);
  CHECK_FALSE(world.run());
  CHECK(health_of(world, unit) == 100);
}

TEST_CASE("a world in PostgreSQL returns to a past state", "[postgres]") {
  const Folder folder;
  const std::string address = postgres().address("past");
  World world(address, install, options_of(folder));
  const Entity unit = world.registry().create("unit", game::Health{.value = 100}).or_stop();
  (void)world.poll(milliseconds(1));  // tick 1
  world.save();
  (void)world.poll(milliseconds(1));
  world.registry().push(unit, game::Damage{.amount = 5});
  flush_until_durable(world);
  world.save();
  CHECK(health_of(world, unit) == 95);
  REQUIRE(world.restore({.tick = 1}));
  CHECK(health_of(world, unit) == 100);
}

TEST_CASE("a world that is copied to PostgreSQL and back has the same rows, byte for byte", "[postgres]") {
  const Folder folder;
  const std::string first = folder / "first.muster", second = folder / "second.muster";
  const std::string address = postgres().address("copied%20one");
  Entity unit;
  {
    World world(first, install, {.durability = Durability::each_flush, .autosave = {}, .past_bytes = 1u << 20});
    unit = world.registry().create("unit", game::Health{.value = 100}).or_stop();
    for (int i = 0; i < 5; ++i) {
      world.save();
      world.registry().push(unit, game::Damage{.amount = 1});
      flush_until_durable(world);
    }
    world.save();
    for (int i = 0; i < 5; ++i) world.registry().push(unit, game::Damage{.amount = 2});
    flush_until_durable(world);
  }
  const auto to = copy_world(first, address);
  if (!to) FAIL(to.error().what());
  const auto back = copy_world(address, second);
  if (!back) FAIL(back.error().what());
  CHECK(to->hash == back->hash);
  CHECK(to->sequence == back->sequence);
  CHECK(dump(first) == dump(second));
  // Nothing is replaced.
  CHECK(copy_world(first, address).error().code() == WorldErrorCode::exists);
  CHECK(copy_world(address, first).error().code() == WorldErrorCode::exists);
  // The copy is a world that goes on.
  World world(address, install, options_of(folder));
  CHECK(health_of(world, unit) == 85);
}

TEST_CASE("a copy of what is not whole is refused, and leaves nothing", "[postgres]") {
  const Folder folder;
  const std::string file = folder / "w.muster", address = postgres().address("not%20whole");
  {
    World world(address, install, options_of(folder));
    world.registry().create("unit", game::Health{.value = 100}).or_stop();
    world.save();
  }
  postgres().sql("UPDATE \"not whole\".state SET bytes = bytes || '\\x01' WHERE section = 8");
  const auto copied = copy_world(address, file);
  REQUIRE_FALSE(copied);
  CHECK(copied.error().code() == WorldErrorCode::damaged);
  CHECK(folder.names().empty());
}

}  // namespace muster::test
