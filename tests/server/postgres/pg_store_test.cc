// A world in PostgreSQL: the server is real, and is killed where a test says so.
#include "server/postgres/pg_store.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "server/world/file/world_file.h"
#include "tests/server/world/made_up_groups.h"
#include "tests/server/world/made_up_rows.h"
#include "tests/support/postgres.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;

/// So long that only a lost connection ends a call.
constexpr milliseconds patience(60'000);

/// One for all tests of the program, each of which uses worlds of its own.
Postgres& postgres() {
  static Postgres server;
  return server;
}

std::unique_ptr<PgStore> opened(const std::string& world, StoreOptions options = {},
                                milliseconds lease = milliseconds(3000)) {
  auto store = PgStore::open(postgres().address(world), options, {.lease = lease, .patience = patience});
  if (!store) FAIL(store.error().what());
  return std::move(*store);
}

/// All that an open store gives, section by section.
Contents all_of(Store& store) {
  Contents all;
  const auto loaded = store.load([&](StateSource& source) -> std::expected<void, StateError> {
    StateKey last{static_cast<StateSection>(0), 0, 0};
    for (int section = 1; section <= 13; ++section)
      source.rows(static_cast<StateSection>(section), [&](const StateKey& key, std::span<const std::byte> bytes) {
        if (!(last < key)) FAIL("the rows are not in order");
        last = key;
        all[key] = Bytes(bytes.begin(), bytes.end());
      });
    return {};
  });
  if (!loaded) FAIL(loaded.error().what());
  return all;
}

Groups groups_of(Store& store) {
  Groups groups;
  const auto read = store.journal([&](const JournalGroup& group) -> std::expected<bool, std::string> {
    groups.push_back(group);
    return true;
  });
  if (!read) FAIL(read.error().what());
  return groups;
}

void save(Store& store, const Rows& rows, std::uint64_t sequence) {
  const auto saved = store.save({.sequence = sequence, .tick = sequence}, saving(rows));
  if (!saved) FAIL(saved.error().what());
}

/// A group of one input that follows the store's last one.
JournalGroup next_group(const Store& store, std::size_t bytes = 40) {
  return {.first = store.durable() + 1,
          .last = store.durable() + 1,
          .first_tick = 1,
          .last_tick = 1,
          .epoch = 5,
          .types = 9,
          .code = "code",
          .records = Bytes(bytes, std::byte{7})};
}

void append(Store& store) {
  JournalGroup group = next_group(store);
  const auto appended = store.append(group);
  if (!appended) FAIL(appended.error().what());
}

}  // namespace

TEST_CASE("what was saved and recorded in PostgreSQL is there when the world is opened again", "[postgres]") {
  std::mt19937_64 random(1);
  Rows rows;
  for (std::uint64_t version = 1; version <= 6; ++version) {
    auto store = opened("again");
    CHECK(store->is_new() == (version == 1));
    CHECK(all_of(*store) == contents(rows));
    CHECK(groups_of(*store).size() == (version == 1 ? 0 : 3));
    for (int i = 0; i < 20; ++i) rows[random_key(random)] = {version, random_bytes(random, random() % 9000)};
    if (version > 2)
      for (int i = 0; i < 4; ++i) rows.erase(std::next(rows.begin(), static_cast<int>(random() % rows.size())));
    save(*store, rows, 10 * version);
    for (int i = 0; i < 3; ++i) append(*store);
  }
}

TEST_CASE("a checkpoint in steps is current in PostgreSQL only with its last step", "[postgres]") {
  std::mt19937_64 random(2);
  Rows rows;
  for (int i = 0; i < 60; ++i) rows[random_key(random)] = {1, random_bytes(random, 3000)};
  auto store = opened("steps");
  save(*store, rows, 1);
  const Contents before = contents(rows);
  for (auto& [key, row] : rows)
    if (random() % 2 == 0) row = {2, random_bytes(random, 3000)};
  rows.erase(rows.begin());
  std::optional<StateCopy> none;
  const StateCopy copied = store->preserve(saving(rows), 0, 64u << 20, none);
  const CheckpointStamp stamp{.sequence = 1, .tick = 2};  // the inputs in between come after it
  store->begin_save(stamp, copied);
  int steps = 0;
  for (;; ++steps) {
    auto step = store->step_save({.bytes = 8000});
    REQUIRE(step);
    if (step->state == SaveStep::State::done) break;
    REQUIRE(step->state == SaveStep::State::more);
    append(*store);  // groups go between the steps
  }
  CHECK(steps > 3);
  while (store->remove_past().value()) {
  }
  store.reset();
  store = opened("steps");
  CHECK(all_of(*store) == contents(rows));
  CHECK(groups_of(*store).size() == static_cast<std::size_t>(steps));
  CHECK(before != contents(rows));
}

TEST_CASE("a file and PostgreSQL hold the same rows with the same checksums", "[postgres]") {
  const Directory directory;
  std::mt19937_64 random(3);
  auto file = WorldFile::open(directory / "w.muster").value();
  auto store = opened("same");
  Rows rows;
  for (std::uint64_t version = 1; version <= 3; ++version) {
    for (int i = 0; i < 20; ++i) rows[random_key(random)] = {version, random_bytes(random, random() % 500)};
    save(file, rows, version);
    save(*store, rows, version);
  }
  CHECK(file.meta().digest == store->meta().digest);
  CHECK(file.meta().rows == store->meta().rows);
  CHECK(all_of(file) == all_of(*store));
}

TEST_CASE("a world in PostgreSQL has one owner at a time", "[postgres]") {
  auto first = opened("owned");
  const auto second =
      PgStore::open(postgres().address("owned"), {}, {.lease = milliseconds(3000), .patience = patience});
  REQUIRE_FALSE(second);
  CHECK(second.error().code() == WorldErrorCode::in_use);
  CHECK(second.error().detail().find("process " + std::to_string(::getpid())) != std::string::npos);
  save(*first, {}, 1);
  first.reset();
  CHECK(opened("owned")->meta().sequence == 1);  // at once, since the first one has ended its lease
}

TEST_CASE("an owner that was fenced writes nothing, and says so from then on", "[postgres]") {
  auto first = opened("fenced");
  save(*first, {}, 1);
  append(*first);
  // As if it had been stopped for longer than its lease.
  postgres().sql("UPDATE fenced.lease SET epoch = epoch + 1, owner = 'another'");
  const std::string before = postgres().sql("SELECT count(*) FROM fenced.journal");
  JournalGroup group = next_group(*first);
  const auto appended = first->append(group);
  REQUIRE_FALSE(appended);
  CHECK(appended.error().code() == WorldErrorCode::displaced);
  REQUIRE(first->displaced());
  const auto saved = first->save({.sequence = 3, .tick = 3}, saving({}));
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code() == WorldErrorCode::displaced);
  CHECK_FALSE(first->is_as_left());
  CHECK(postgres().sql("SELECT count(*) FROM fenced.journal") == before);
  CHECK(postgres().sql("SELECT value FROM fenced.meta WHERE name = 'sequence'") == "1");
}

TEST_CASE("a fenced checkpoint in steps is not made current", "[postgres]") {
  auto store = opened("fenced steps");
  Rows rows;
  for (std::uint64_t i = 0; i < 9; ++i) rows[{StateSection::texts, i, 0}] = {1, Bytes(2000, std::byte{1})};
  save(*store, rows, 1);
  for (auto& [key, row] : rows) row = {2, Bytes(2000, std::byte{2})};
  std::optional<StateCopy> none;
  const StateCopy copied = store->preserve(saving(rows), 0, 64u << 20, none);
  const CheckpointStamp stamp{.sequence = 2, .tick = 2};
  store->begin_save(stamp, copied);
  REQUIRE(store->step_save({.bytes = 2000}));
  postgres().sql("UPDATE \"fenced steps\".lease SET epoch = epoch + 1");
  const auto step = store->step_save({.bytes = 2000});
  REQUIRE_FALSE(step);
  CHECK(store->displaced());
  CHECK(postgres().sql("SELECT value FROM \"fenced steps\".meta WHERE name = 'sequence'") == "1");
}

TEST_CASE("the idle owner finds out by renewing its lease that it was fenced", "[postgres]") {
  auto store = opened("idle", {}, milliseconds(600));
  save(*store, {}, 1);
  postgres().sql("UPDATE idle.lease SET epoch = epoch + 1");
  for (int i = 0; i < 600 && !store->displaced(); ++i) std::this_thread::sleep_for(milliseconds(50));
  REQUIRE(store->displaced());
  CHECK(store->displaced()->find("another host has taken the world over") != std::string::npos);
}

TEST_CASE("what PostgreSQL has acknowledged is there after it was killed, and the world goes on", "[postgres]") {
  std::mt19937_64 random(4);
  Rows rows;
  for (int i = 0; i < 20; ++i) rows[random_key(random)] = {1, random_bytes(random, 2000)};
  auto store = opened("killed", {}, milliseconds(60'000));
  save(*store, rows, 1);
  append(*store);
  append(*store);
  postgres().kill();
  JournalGroup lost = next_group(*store);
  const auto failed = store->append(lost);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code() == WorldErrorCode::io);
  CHECK_FALSE(store->displaced());
  postgres().start();
  // As after every failed group, a whole checkpoint follows.
  rows.begin()->second = {2, random_bytes(random, 100)};
  save(*store, rows, 4);
  append(*store);
  store.reset();
  store = opened("killed");
  CHECK(all_of(*store) == contents(rows));
  CHECK(groups_of(*store).size() == 1);
  CHECK(store->durable() == 5);
}

TEST_CASE("a group that was committed although its answer was lost is not there twice", "[postgres]") {
  auto store = opened("doubt");
  save(*store, {}, 1);
  append(*store);
  // As if the connection was lost between the commit of group 2 and its answer.
  postgres().sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muster'; "
      "INSERT INTO doubt.journal SELECT id + 1, first + 1, last + 1, first_tick, last_tick, epoch, code, types, "
      "checksum, records FROM doubt.journal");
  for (int i = 0; i < 2; ++i) {
    JournalGroup group = next_group(*store);
    const auto appended = store->append(group);
    REQUIRE_FALSE(appended);
    CHECK(appended.error().code() == WorldErrorCode::io);
  }
  save(*store, {}, 3);  // with the input of the group that was reported as failed
  append(*store);
  store.reset();
  store = opened("doubt");
  (void)all_of(*store);
  CHECK(groups_of(*store).size() == 1);
  CHECK(store->durable() == 4);
}

TEST_CASE("to process what was read may take longer than PostgreSQL may be silent", "[postgres]") {
  const std::string world = "slow reader";
  {
    auto store = opened(world);
    save(*store, {}, 1);
    for (int i = 0; i < 3; ++i) append(*store);
  }
  const milliseconds short_patience(300);
  auto store =
      PgStore::open(postgres().address("slow%20reader"), {}, {.lease = milliseconds(3000), .patience = short_patience})
          .value();
  (void)all_of(*store);
  int groups = 0;
  const auto read = store->journal([&](const JournalGroup&) -> std::expected<bool, std::string> {
    std::this_thread::sleep_for(2 * short_patience);
    ++groups;
    return true;
  });
  if (!read) FAIL(read.error().what());
  CHECK(groups == 3);
  append(*store);  // over the same connection, or it would fail
}

TEST_CASE("a row that was changed in PostgreSQL is found, and its place is named", "[postgres]") {
  for (const auto& [world, sql, place] :
       {std::tuple("damage1", "UPDATE damage1.state SET bytes = bytes || '\\x00' WHERE key = 3", "texts 3"),
        std::tuple("damage2", "DELETE FROM damage2.state WHERE key = 3", "the rows are not those of checkpoint 1"),
        std::tuple("damage3", "UPDATE damage3.meta SET value = '9' WHERE name = 'tick'", "the meta table"),
        std::tuple("damage4", "DROP TABLE damage4.history", "the table 'history' is missing"),
        std::tuple("damage5", "UPDATE damage5.layout SET version = 99", "version 99"),
        std::tuple("damage6", "DELETE FROM damage6.lease", "the table 'lease' has no row")}) {
    INFO(world);
    Rows rows;
    for (std::uint64_t i = 0; i < 5; ++i) rows[{StateSection::texts, i, 0}] = {1, Bytes(20, std::byte{1})};
    save(*opened(world), rows, 1);
    postgres().sql(sql);
    auto store = PgStore::open(postgres().address(world), {}, {.lease = milliseconds(3000), .patience = patience});
    std::string error = store ? "" : store.error().what();
    if (store) {
      const auto loaded = (*store)->load([](StateSource&) -> std::expected<void, StateError> { return {}; });
      REQUIRE_FALSE(loaded);
      error = loaded.error().what();
    }
    CHECK(error.find(place) != std::string::npos);
  }
}

TEST_CASE("a group that was removed from PostgreSQL is found", "[postgres]") {
  {
    auto store = opened("lost group");
    save(*store, {}, 1);
    for (int i = 0; i < 3; ++i) append(*store);
  }
  postgres().sql("DELETE FROM \"lost group\".journal WHERE id = 2");
  auto store = opened("lost group");
  (void)all_of(*store);
  const auto read = store->journal([](const JournalGroup&) -> std::expected<bool, std::string> { return true; });
  REQUIRE_FALSE(read);
  CHECK(read.error().detail().find("group 2 was to come, group 3 came") != std::string::npos);
}

TEST_CASE("a database that cannot be reached is named with the reason", "[postgres]") {
  const auto store = PgStore::open("postgres:///postgres/w?host=/nowhere&user=muster:secret");
  REQUIRE_FALSE(store);
  CHECK(store.error().code() == WorldErrorCode::io);
  CHECK(store.error().detail().find("cannot be reached") != std::string::npos);
  CHECK(PgStore::open("postgres://h/d").error().code() == WorldErrorCode::missing);
}

TEST_CASE("a schema that is no world is left as it is", "[postgres]") {
  postgres().sql("CREATE SCHEMA theirs; CREATE TABLE theirs.meta(a int)");
  const auto store = PgStore::open(postgres().address("theirs"));
  REQUIRE_FALSE(store);
  CHECK(store.error().code() == WorldErrorCode::not_a_world);
  CHECK(postgres().sql("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'theirs'") == "1");
}

TEST_CASE("a world that was never saved leaves nothing in the database", "[postgres]") {
  (void)opened("never");
  CHECK(postgres().sql("SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'never'") == "0");
  const auto missing = PgStore::open(postgres().address("never"), {.mode = OpenMode::open_existing});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == WorldErrorCode::missing);
}

}  // namespace muster::test
