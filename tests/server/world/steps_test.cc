// Checkpoints that are written in steps: until the last one the file holds the previous checkpoint, whatever happens.
#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/server/world/made_up_groups.h"
#include "tests/support/faulty_disk.h"

namespace steps_test {

using namespace muster;
using namespace muster::test;

namespace {

using State = SaveStep::State;
const SaveSlice one_row{.bytes = 1, .time = std::chrono::hours(1)};

std::string sql(const std::string& path, const std::string& text) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &connection) == SQLITE_OK);
  std::string value;
  sqlite3_exec(
      connection, text.c_str(),
      [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) = values[0];
        return 0;
      },
      &value, nullptr);
  sqlite3_close(connection);
  return value;
}

Rows some_rows(std::mt19937_64& random, int count, std::uint64_t version, std::size_t bytes_max = 4000) {
  Rows rows;
  for (int i = 0; i < count; ++i) rows[random_key(random)] = {version, random_bytes(random, random() % bytes_max)};
  return rows;
}

/// Rows come, change and vanish.
void change(std::mt19937_64& random, Rows& rows, std::uint64_t version) {
  for (const auto& [key, row] : some_rows(random, static_cast<int>(random() % 8), version)) rows[key] = row;
  for (std::size_t i = random() % 4; i > 0 && !rows.empty(); --i)
    rows.erase(std::next(rows.begin(), static_cast<std::ptrdiff_t>(random() % rows.size())));
}

struct Found {
  Contents rows;
  std::uint64_t checkpoint = 0, groups = 0;  // groups: the last one's number
};

/// What the file at `path` would be after a kill -9 now; its owner is in no call.
Found after_kill(const std::string& path, const Directory& directory) {
  const std::string copy = directory / "killed.muster";
  for (const char* part : {"", "-wal"}) write_file(copy + part, read_file(path + part));
  ::unlink((copy + "-shm").c_str());
  ::unlink((copy + "-lock").c_str());
  auto file = WorldFile::open(copy, {.mode = OpenMode::open_existing});
  if (!file) FAIL(file.error().what());
  auto rows = load_all(*file);
  if (!rows) FAIL(rows.error().what());
  Groups groups;
  const auto report = take_all(*file, groups);
  if (!report) FAIL(report.error().what());
  return {*rows, file->meta().checkpoint, file->meta().group + report->groups};
}

void add_group(WorldFile& file, std::uint64_t& groups) {
  JournalGroup next = made_up_group(groups + 1);
  if (const auto added = file.append(next); !added) FAIL(added.error().what());
  ++groups;
}

}  // namespace

TEST_CASE(
    "a checkpoint in steps with groups between them: a kill at any step leaves the previous one or the next, and all "
    "groups") {
  const int seed = GENERATE(range(1, 9));
  CAPTURE(seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = some_rows(random, 12, 1);
  std::uint64_t version = 1, groups = 0;
  for (int session = 0; session < 3; ++session) {
    auto file = WorldFile::open(path, {.merge_bytes = random() % 2 * 20'000});
    REQUIRE(load_all(*file));
    Groups read;
    REQUIRE(take_all(*file, read));
    if (session == 0) REQUIRE(file->save({.sequence = 100}, saving(rows)));
    Contents current = contents(rows);
    for (int round = 0; round < 8; ++round) {
      ++version;
      change(random, rows, version);
      const std::uint64_t contained = groups;
      const CheckpointStamp stamp{.sequence = groups == 0 ? 100 : made_up_group(groups).last, .tick = version};
      const StateCopy copied = copied_rows(*file, saving(rows));
      const Contents next = contents(rows);
      const std::uint64_t number = file->meta().checkpoint;
      file->begin_save(stamp, copied);
      for (;;) {
        if (random() % 3 == 0) add_group(*file, groups);
        const auto step = file->step_save(random() % 4 ? one_row : SaveSlice{});
        if (!step) FAIL(step.error().what());
        const Found found = after_kill(path, directory);
        CHECK(found.groups == groups);
        if (step->state == State::done) {
          CHECK(step->report.checkpoint == number + 1);
          CHECK(step->report.rows == next.size());
          CHECK(file->meta().group == contained);
          CHECK(found.checkpoint == number + 1);
          REQUIRE(found.rows == next);
          current = next;
          break;
        }
        REQUIRE(step->state == State::more);
        CHECK(found.checkpoint == number);
        REQUIRE(found.rows == current);
        if (random() % 40 == 0) {
          break;
        }
      }
      // What is to go goes bit by bit, or with the next checkpoint.
      for (std::size_t i = random() % 6; i > 0; --i) {
        REQUIRE(file->remove_past(one_row));
        REQUIRE(after_kill(path, directory).rows == current);
      }
      if (random() % 4 == 0) {
        REQUIRE(file->save({.sequence = groups == 0 ? 100 : made_up_group(groups).last}, saving(rows)));
        current = contents(rows);
        REQUIRE(after_kill(path, directory).rows == current);
      }
    }
    REQUIRE(file->save({.sequence = groups == 0 ? 100 : made_up_group(groups).last}, saving(rows)));
  }
  CHECK(sql(path, "SELECT count(*) FROM state") == std::to_string(rows.size()));
  CHECK(sql(path, "SELECT count(*) FROM state WHERE bytes IS NULL") == "0");
  CHECK(sql(path, "SELECT count(*) FROM journal") == "0");
  CHECK(read_world(path).value() == contents(rows));
}

TEST_CASE("a checkpoint in steps passes over rows that have the bytes they had, and holds them") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = make_world(path);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    REQUIRE(file->save({}, saving(rows)));
    for (auto& [key, row] : rows) row.version += 1000;
    rows.begin()->second.bytes.push_back(std::byte{1});
    const StateCopy copied = copied_rows(*file, saving(rows));
    const CheckpointStamp stamp;
    file->begin_save(stamp, copied);
    auto step = file->step_save();
    while (step && step->state == State::more) step = file->step_save();
    REQUIRE(step);
    CHECK(step->report.rows_written == 1);
  }
  CHECK((read_world(path) == contents(rows)));
}

TEST_CASE(
    "a step writes no more than it may, a single row excepted, and rows that did not change cost no step of their "
    "own") {
  const Directory directory;
  auto file = WorldFile::open(directory / "w.muster");
  std::mt19937_64 random(1);
  Rows rows;
  for (std::uint64_t i = 0; i < 400; ++i) rows[{StateSection::columns, i, 7}] = {1, random_bytes(random, 1000)};
  REQUIRE(file->save({}, saving(rows)));
  for (std::uint64_t i = 0; i < 400; i += 2) rows[{StateSection::columns, i, 7}] = {2, random_bytes(random, 1000)};
  rows[{StateSection::columns, 200, 7}].bytes = random_bytes(random, 50'000);
  const StateCopy copied = copied_rows(*file, saving(rows));
  const CheckpointStamp stamp;
  file->begin_save(stamp, copied);
  int steps = 1;
  for (;; ++steps) {
    const auto step = file->step_save({.bytes = 10'000, .time = std::chrono::hours(1)});
    REQUIRE(step);
    if (step->state != State::done) continue;
    CHECK(step->report.rows_written == 200);
    CHECK(step->report.bytes_written == 199'000 + 50'000);
    break;
  }
  CHECK(steps >= 20);
  CHECK(steps <= 22);
  REQUIRE(load_all(*file).value() == contents(rows));
}

TEST_CASE(
    "where a group waits for every step, more goes than comes: a file that is saved again and again stays small") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  auto file = WorldFile::open(path);
  std::mt19937_64 random(1);
  Rows rows = some_rows(random, 20, 1, 100);
  REQUIRE(file->save({.sequence = 100}, saving(rows)));
  const SaveSlice hurried{.time = std::chrono::hours(1), .hurries = [] { return true; }, .bytes_min = 1};
  std::uint64_t groups = 0;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    for (auto& [key, row] : rows) row = {round + 1, random_bytes(random, 100 + round)};
    const StateCopy copied = copied_rows(*file, saving(rows));
    const CheckpointStamp stamp{.sequence = groups == 0 ? 100 : made_up_group(groups).last};
    file->begin_save(stamp, copied);
    do add_group(*file, groups);
    while (file->step_save(hurried)->state != State::done);
    do add_group(*file, groups);
    while (file->remove_past(hurried).value());
    // As many as came since it was begun: while rows were written, and while those before it and the groups of the past were removed.
    CHECK(std::stoi(sql(path, "SELECT count(*) FROM journal")) < 60);
  }
}

TEST_CASE("rows that were replaced or removed are gone from the file some steps after the checkpoint") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  auto file = WorldFile::open(path);
  std::mt19937_64 random(1);
  Rows rows = some_rows(random, 60, 1);
  REQUIRE(file->save({}, saving(rows)));
  const std::size_t before = rows.size();
  for (int i = 0; i < 10; ++i) rows.erase(rows.begin());
  for (auto& [key, row] : rows) row = {2, random_bytes(random, row.bytes.size() + 1)};
  const StateCopy copied = copied_rows(*file, saving(rows));
  const CheckpointStamp stamp;
  file->begin_save(stamp, copied);
  while (file->step_save(one_row)->state != State::done) {
  }
  CHECK(sql(path, "SELECT count(*) FROM state") == std::to_string(2 * before));
  CHECK(sql(path, "SELECT count(*) FROM state WHERE bytes IS NULL") == "10");
  int steps = 0;
  while (file->remove_past(one_row).value()) ++steps;
  CHECK(steps > 50);
  CHECK(sql(path, "SELECT count(*) FROM state") == std::to_string(rows.size()));
  REQUIRE(load_all(*file).value() == contents(rows));
}

TEST_CASE("what a killed checkpoint left does not count, and is removed by the next one after opening") {
  const Directory directory;
  const std::string path = directory / "w.muster", copy = directory / "copy.muster";
  std::mt19937_64 random(1);
  Rows rows = some_rows(random, 30, 1);
  const Contents before = contents(rows);
  {
    auto file = WorldFile::open(path);
    REQUIRE(file->save({}, saving(rows)));
    for (int i = 0; i < 5; ++i) rows.erase(rows.begin());
    for (auto& [key, row] : rows) row = {2, random_bytes(random, 100)};
    const StateCopy copied = copied_rows(*file, saving(rows));
    const CheckpointStamp stamp;
    file->begin_save(stamp, copied);
    for (int i = 0; i < 20; ++i) REQUIRE(file->step_save(one_row)->state == State::more);
    for (const char* part : {"", "-wal"}) write_file(copy + part, read_file(path + part));
  }
  const bool in_steps = GENERATE(false, true);
  auto file = WorldFile::open(copy);
  REQUIRE(load_all(*file).value() == before);
  CHECK(sql(copy, "SELECT count(*) FROM state WHERE checkpoint = 2") == "20");
  if (in_steps) {
    const StateCopy copied = copied_rows(*file, saving(rows));
    const CheckpointStamp stamp;
    file->begin_save(stamp, copied);
    while (file->step_save(one_row)->state != State::done) {
    }
    while (file->remove_past().value()) {
    }
  } else {
    REQUIRE(file->save({}, saving(rows)));
  }
  CHECK(file->meta().checkpoint == 2);
  CHECK(sql(copy, "SELECT count(*) FROM state") == std::to_string(rows.size()));
  REQUIRE(load_all(*file).value() == contents(rows));
}

TEST_CASE(
    "a disk that fails at any operation of a checkpoint in steps leaves the previous or the next one, and all groups") {
  FaultyDisk disk("faulty");
  bool whole = false;
  int previous = 0;
  for (std::int64_t operations = 0; !whole; ++operations) {
    CAPTURE(operations);
    const Directory directory;
    const std::string path = directory / "w.muster";
    std::mt19937_64 random(4);
    Rows rows = some_rows(random, 8, 1);
    const Contents before = contents(rows);
    std::uint64_t groups = 0;
    bool failed = false, done = false;
    {
      auto file = WorldFile::open(path, {.merge_bytes = 9000, .vfs = disk.name()});
      if (const auto first = file->save({.sequence = 100}, saving(rows)); !first) FAIL(first.error().what());
      for (const auto& [key, row] : some_rows(random, 6, 2)) rows[key] = row;
      rows.erase(rows.begin());
      const CheckpointStamp stamp{.sequence = 100};
      const StateCopy copied = copied_rows(*file, saving(rows));
      disk.operations_left = operations;
      file->begin_save(stamp, copied);
      while (!failed) {
        JournalGroup next = made_up_group(groups + 1);
        if (file->append(next))
          ++groups;
        else
          failed = true;
        if (failed) break;
        if (done) {
          const auto more = file->remove_past(one_row);
          failed = !more;
          if (more && !*more) break;
          continue;
        }
        const auto step = file->step_save({.bytes = 6000, .time = std::chrono::hours(1)});
        failed = !step;
        done = step && step->state == State::done;
      }
      whole = !failed;
      disk.operations_left = -1;
      if (failed && operations % 2) {
        // Whoever goes on with the same file comes to the same.
        const Contents held = load_all(*file).value();
        Groups read;
        REQUIRE(take_all(*file, read));
        REQUIRE((held == before || held == contents(rows)));
        if (!done) {
          const StateCopy again = copied_rows(*file, saving(rows));
          const CheckpointStamp later{.sequence = file->durable()};
          file->begin_save(later, again);
          for (;;) {
            const auto step = file->step_save(one_row);
            if (!step) FAIL(step.error().what());
            if (step->state == State::done) break;
          }
          groups = file->meta().group;
          done = true;
        }
      }
      disk.operations_left = 0;
    }
    disk.operations_left = -1;
    auto file = WorldFile::open(path);
    if (!file) FAIL(file.error().what());
    const auto held = load_all(*file);
    if (!held) FAIL(held.error().what());
    Groups read;
    const auto report = take_all(*file, read);
    if (!report) FAIL(report.error().what());
    const std::uint64_t found = file->meta().group + report->groups;
    CHECK((found == groups || found == groups + 1));
    if (done)
      REQUIRE(*held == contents(rows));
    else
      REQUIRE((*held == before || *held == contents(rows)));
    previous += *held == before;
  }
  CHECK(previous > 10);
}

TEST_CASE(
    "a power cut at any moment of checkpoints in steps leaves the last one that was reported, or the next, and all "
    "groups") {
  int newer = 0, older = 0;
  for (int seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    FaultyDisk disk("faulty");
    const Directory directory;
    const std::string path = directory / "w.muster";
    Rows rows = some_rows(random, 8, 1);
    {
      auto file = WorldFile::open(path);
      REQUIRE(file->save({.sequence = 100}, saving(rows)));
    }
    disk.remember = true;
    Contents reported = contents(rows), next;
    std::uint64_t version = 1, groups = 0;
    {
      auto file = WorldFile::open(path, {.merge_bytes = random() % 3 * 20'000, .vfs = disk.name()});
      REQUIRE(load_all(*file));
      disk.operations_left = static_cast<std::int64_t>(random() % 200);
      for (bool good = true; good;) {
        change(random, rows, ++version);
        next = contents(rows);
        const StateCopy copied = copied_rows(*file, saving(rows));
        const CheckpointStamp stamp{.sequence = groups == 0 ? 100 : made_up_group(groups).last};
        file->begin_save(stamp, copied);
        for (;;) {
          const auto step = file->step_save({.bytes = random() % 9000, .time = std::chrono::hours(1)});
          good = step.has_value();
          if (!good) break;
          if (step->state == State::done) {
            reported = next;
            break;
          }
          JournalGroup group = made_up_group(groups + 1);
          good = file->append(group).has_value();
          if (!good) break;
          ++groups;
        }
        if (good && random() % 2) good = file->remove_past(one_row).has_value();
      }
      disk.operations_left = 0;
    }
    disk.cut_power(random);
    auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
    if (!file) FAIL(file.error().what());
    const auto read = load_all(*file);
    if (!read) FAIL(read.error().what());
    REQUIRE((*read == reported || *read == next));
    Groups taken;
    const auto report = take_all(*file, taken);
    if (!report) FAIL(report.error().what());
    const std::uint64_t found = file->meta().group + report->groups;
    REQUIRE((found == groups || found == groups + 1));
    newer += *read == next && next != reported;
    older += *read == reported;
  }
  CAPTURE(newer, older);
  CHECK(older > 60);
}

TEST_CASE(
    "a checkpoint in steps is given up where another program writes to the file, and the next writes everything") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  std::mt19937_64 random(1);
  Rows rows = some_rows(random, 20, 1);
  auto file = WorldFile::open(path);
  REQUIRE(file->save({}, saving(rows)));
  for (auto& [key, row] : rows) row = {2, random_bytes(random, row.bytes.size() + 1)};
  const CheckpointStamp stamp;
  const StateCopy copied = copied_rows(*file, saving(rows));
  file->begin_save(stamp, copied);
  REQUIRE(file->step_save(one_row)->state == State::more);
  sql(path, "DELETE FROM state WHERE id % 2");
  REQUIRE(file->step_save(one_row)->state == State::stale);
  CHECK(file->step_save(one_row).error().detail() == "no checkpoint was begun");
  const StateCopy whole = copied_rows(*file, saving(rows));
  file->begin_save(stamp, whole);
  const auto step = file->step_save(one_row);
  REQUIRE(step);
  CHECK(step->state == State::done);
  CHECK(step->report.rows_written == rows.size());
  REQUIRE(load_all(*file).value() == contents(rows));
  CHECK(sql(path, "SELECT count(*) FROM state") == std::to_string(rows.size()));
}

}  // namespace steps_test
