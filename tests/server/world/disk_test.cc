// A disk that is full, fails, or loses its power, under the real code.
#include <catch2/catch.hpp>

#include "tests/server/world/made_up_rows.h"
#include "tests/support/faulty_disk.h"

using namespace muster;
using namespace muster::test;

namespace {

Rows some_rows(std::uint64_t seed, int count, std::uint64_t version) {
  std::mt19937_64 random(seed);
  Rows rows;
  for (int i = 0; i < count; ++i) rows[random_key(random)] = {version, random_bytes(random, random() % 20000)};
  return rows;
}

}  // namespace

TEST_CASE("a full disk fails a checkpoint, the previous one stays, and a later one writes everything") {
  const std::int64_t free_bytes = GENERATE(0, 100, 5000, 20000, 60000, 150000);
  CAPTURE(free_bytes);
  FaultyDisk disk("faulty");
  const Directory directory;
  const std::string path = directory / "w.muster";
  auto file = WorldFile::open(path, {.vfs = disk.name()});
  Rows rows = some_rows(1, 20, 1);
  REQUIRE(file->save({}, saving(rows)));
  const Contents before = contents(rows);

  for (const auto& [key, row] : some_rows(2, 60, 2)) rows[key] = row;
  rows.erase(rows.begin());
  disk.free_bytes = free_bytes;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto full = file->save({}, saving(rows));
    REQUIRE_FALSE(full);
    CHECK(full.error().code() == WorldErrorCode::disk_full);
    CHECK(std::string(full.error().what()) == path + ": the disk is full while writing a checkpoint");
    CHECK(file->meta().checkpoint == 1);
  }
  CHECK(disk.refusals > 0);
  REQUIRE(load_all(*file) == before);

  disk.free_bytes = -1;
  const auto report = file->save({}, saving(rows));
  REQUIRE(report);
  CHECK(report->checkpoint == 2);
  REQUIRE(load_all(*file) == contents(rows));
}

TEST_CASE("a full disk while a world is created leaves nothing, and a later save creates it") {
  FaultyDisk disk("faulty");
  const Directory directory;
  const std::string path = directory / "w.muster";
  auto file = WorldFile::open(path, {.vfs = disk.name()});
  const Rows rows = some_rows(1, 20, 1);
  for (const std::int64_t free_bytes : {0, 4096, 20000}) {
    disk.free_bytes = free_bytes;
    const auto full = file->save({}, saving(rows));
    REQUIRE_FALSE(full);
    CHECK(std::string(full.error().what()) == path + ": the disk is full while creating the file");
    CHECK(file->is_new());
    CHECK(directory.names() == std::vector<std::string>{"w.muster-lock"});
  }
  disk.free_bytes = -1;
  REQUIRE(file->save({}, saving(rows)));
  REQUIRE(load_all(*file) == contents(rows));
}

TEST_CASE("a disk that fails at any operation fails a checkpoint, and the file holds the previous or the new one") {
  FaultyDisk disk("faulty");
  std::int64_t good = 0;
  bool whole = false;
  for (std::int64_t operations = 0; !whole; ++operations) {
    CAPTURE(operations);
    const Directory directory;
    const std::string path = directory / "w.muster";
    Rows rows = some_rows(1, 12, 1);
    const Contents before = contents(rows);
    {
      auto file = WorldFile::open(path, {.vfs = disk.name()});
      REQUIRE(file->save({}, saving(rows)));
      for (const auto& [key, row] : some_rows(2, 12, 2)) rows[key] = row;
      disk.operations_left = operations;
      const auto report = file->save({}, saving(rows));
      whole = report.has_value();
      disk.operations_left = -1;
      if (!whole) {
        CHECK(report.error().code() == WorldErrorCode::io);
        REQUIRE(load_all(*file) == before);
        if (operations % 2) {
          REQUIRE(file->save({}, saving(rows)));
          REQUIRE(load_all(*file) == contents(rows));
          continue;
        }
      }
      ++good;
    }
    const auto read = read_world(path);
    REQUIRE(read);
    REQUIRE((*read == before || *read == contents(rows)));
    if (whole) REQUIRE(*read == contents(rows));
  }
  CHECK(good > 3);
}

TEST_CASE("a power cut at any moment leaves the last checkpoint that was reported, or the next") {
  const int rounds = 200;
  int newer = 0, between = 0;
  for (int seed = 1; seed <= rounds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    FaultyDisk disk("faulty");
    const Directory directory;
    const std::string path = directory / "w.muster";
    Rows rows = some_rows(random(), 10, 1);
    {
      auto file = WorldFile::open(path);
      REQUIRE(file->save({}, saving(rows)));
    }
    disk.remember = true;
    std::uint64_t version = 1;
    for (int cut = 0; cut < 3; ++cut) {
      Contents reported = contents(rows), next;
      {
        // Merges into the file itself after each, some or none of the checkpoints.
        const std::uint64_t merge_bytes = random() % 3 * 100'000;
        auto file =
            WorldFile::open(path, {.mode = OpenMode::open_existing, .merge_bytes = merge_bytes, .vfs = disk.name()});
        if (!file) FAIL(file.error().what());
        const auto read = load_all(*file);
        if (!read) FAIL(read.error().what());
        disk.operations_left = static_cast<std::int64_t>(random() % 150);
        for (;;) {
          ++version;
          for (const auto& [key, row] : some_rows(random(), 6, version)) rows[key] = row;
          if (random() % 3 == 0) rows.erase(rows.begin());
          next = contents(rows);
          if (!file->save({.sequence = version}, saving(rows))) break;
          reported = next;
        }
        disk.operations_left = 0;
      }
      disk.cut_power(random);
      const auto read = read_world(path);
      if (!read) FAIL(read.error().what());
      REQUIRE((*read == reported || *read == next));
      newer += *read == next && next != reported;
      between += *read == reported;
      rows.clear();
      for (const auto& [key, bytes] : *read) rows[key] = {version, bytes};
    }
  }
  CAPTURE(newer, between);
  CHECK(between > rounds);
}
