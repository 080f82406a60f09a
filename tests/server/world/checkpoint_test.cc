#include <catch2/catch.hpp>

#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;

TEST_CASE("a file holds after every checkpoint exactly the rows of a map, whatever changed, came or vanished") {
  const std::uint64_t seed = GENERATE(range(1, 21));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  const std::string path = directory / "level1.muster";
  Rows rows;
  std::uint64_t version = 0, checkpoint = 0;
  for (int session = 0; session < 4; ++session) {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    REQUIRE(file->is_new() == (session == 0));
    const auto loaded = load_all(*file);
    REQUIRE(loaded);
    REQUIRE(*loaded == contents(rows));
    // Versions of another process mean nothing: a new session may begin to count anew.
    if (random() % 2) version = 0;
    for (auto& [key, row] : rows) row.version = version;
    for (int round = 0; round < 8; ++round) {
      ++version;
      std::size_t changed = 0;
      for (std::size_t i = random() % 30; i > 0; --i) {
        const StateKey key = random_key(random);
        if (random() % 4 == 0)
          rows.erase(key);
        else
          rows[key] = {version, random_bytes(random, random() % 5 ? random() % 300 : random() % 90000)};
      }
      for (const auto& [key, row] : rows) changed += row.version == version;
      const auto report = file->save({.sequence = version, .tick = 2 * version}, saving(rows));
      REQUIRE(report);
      REQUIRE(report->checkpoint == ++checkpoint);
      REQUIRE(report->rows == rows.size());
      REQUIRE(report->rows_written == changed);
      REQUIRE_FALSE(file->is_new());
    }
  }
  const auto left = read_world(path);
  REQUIRE(left);
  REQUIRE(*left == contents(rows));
}

TEST_CASE("a checkpoint of a copy holds what there was when it was made, however others take turns with it") {
  const std::uint64_t seed = GENERATE(range(1, 11));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  auto file = WorldFile::open(directory / "w.muster");
  REQUIRE(file);
  Rows rows;
  std::uint64_t version = 0;
  const auto change = [&] {
    ++version;
    for (std::size_t i = random() % 30; i > 0; --i) {
      const StateKey key = random_key(random);
      if (random() % 4 > 0) {
        rows[key] = {version, random_bytes(random, random() % 5 ? random() % 300 : random() % 400'000)};
        continue;
      }
      rows.erase(key);
      // A chunk that loses a column is another.
      const auto chunk = rows.find({StateSection::chunks, key.key, 0});
      if (key.section == StateSection::columns && chunk != rows.end()) chunk->second.version = version;
    }
  };
  Contents last;
  for (int round = 0; round < 40; ++round) {
    change();
    last = contents(rows);
    if (random() % 3 == 0) {
      REQUIRE(file->save({.sequence = version}, saving_changes(rows)));
    } else {
      const std::uint64_t sequence = version;
      const auto before = rows;
      const StateCopy copied = copied_rows(*file, saving_changes(before));
      change();
      const auto report = file->save({.sequence = sequence}, copied);
      REQUIRE(report);
      REQUIRE(*report);
      CHECK((*report)->sequence == sequence);
      CHECK((*report)->rows == last.size());
    }
    if (random() % 4 == 0) REQUIRE(load_all(*file) == last);
  }
  REQUIRE(load_all(*file) == last);
}

TEST_CASE("a checkpoint writes only rows with a new version") {
  const Directory directory;
  auto file = WorldFile::open(directory / "w.muster");
  REQUIRE(file);
  std::mt19937_64 random(1);
  Rows rows;
  for (std::uint64_t i = 0; i < 100; ++i) rows[{StateSection::columns, i, 7}] = {1, random_bytes(random, 65536)};
  REQUIRE(file->save({}, saving(rows))->rows_written == 100);
  const auto idle = file->save({}, saving(rows));
  REQUIRE(idle->rows_written == 0);
  REQUIRE(idle->rows_removed == 0);
  rows[{StateSection::columns, 5, 7}] = {2, random_bytes(random, 65536)};
  rows.erase({StateSection::columns, 6, 7});
  const auto one = file->save({}, saving(rows));
  REQUIRE(one->rows_written == 1);
  REQUIRE(one->bytes_written == 65536);
  REQUIRE(one->rows_removed == 1);
  REQUIRE(one->rows == 99);
}

TEST_CASE("a row that comes with another version and the bytes it had is not written") {
  const Directory directory;
  auto file = WorldFile::open(directory / "w.muster");
  REQUIRE(file);
  std::mt19937_64 random(1);
  Rows rows;
  for (std::uint64_t i = 0; i < 4; ++i) rows[{StateSection::managers, i, 0}] = {1, random_bytes(random, 40'000)};
  REQUIRE(file->save({}, saving(rows)));
  for (auto& [key, row] : rows) row.version = 2;
  rows.at({StateSection::managers, 1, 0}).bytes.back() ^= std::byte{1};
  rows.at({StateSection::managers, 2, 0}).bytes.pop_back();
  const auto report = file->save({}, saving(rows));
  REQUIRE(report);
  CHECK(report->rows_written == 2);
  CHECK(report->bytes_written == 79'999);
  CHECK(report->rows == 4);
  CHECK((load_all(*file) == contents(rows)));
  CHECK(file->save({}, saving(rows))->rows_written == 0);
}

TEST_CASE("a file is asked for chunks that did not change, and holds what was neither asked for nor given no longer") {
  const std::uint64_t seed = GENERATE(range(1, 11));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Directory directory;
  const std::string path = directory / "level1.muster";
  Rows rows;
  std::uint64_t version = 0;
  for (int session = 0; session < 3; ++session) {
    auto file = WorldFile::open(path);
    REQUIRE(file);
    REQUIRE(load_all(*file));
    for (int round = 0; round < 12; ++round) {
      ++version;
      for (std::size_t i = random() % 10; i > 0; --i) {
        const std::uint64_t chunk = random() % 20;
        // A chunk keeps its columns for as long as it is there, and changes when one of them does.
        if (random() % 3 == 0) {
          std::erase_if(rows, [&](const auto& entry) {
            return entry.first.key == chunk &&
                   (entry.first.section == StateSection::chunks || entry.first.section == StateSection::columns);
          });
        } else if (rows.contains({StateSection::chunks, chunk, 0})) {
          rows[{StateSection::columns, chunk, static_cast<std::uint32_t>(random() % 3)}] = {version,
                                                                                            random_bytes(random, 50)};
          rows[{StateSection::chunks, chunk, 0}] = {version, random_bytes(random, 10)};
        } else {
          rows[{StateSection::chunks, chunk, 0}] = {version, random_bytes(random, 10)};
          for (std::uint32_t column = 0; column < 3; ++column)
            rows[{StateSection::columns, chunk, column}] = {version, random_bytes(random, 50)};
        }
        const StateKey page{StateSection::directory, random() % 10, 0};
        if (random() % 3)
          rows[page] = {version, random_bytes(random, 50)};
        else
          rows.erase(page);
      }
      std::size_t changed = 0;
      for (const auto& [key, row] : rows) changed += row.version == version;
      const auto report = file->save({.sequence = version}, random() % 4 ? saving_changes(rows) : saving(rows));
      REQUIRE(report);
      REQUIRE(report->rows == rows.size());
      if (round > 0) REQUIRE(report->rows_written == changed);
    }
    REQUIRE(load_all(*file).value() == contents(rows));
  }
  const auto left = read_world(path);
  REQUIRE(left);
  REQUIRE(*left == contents(rows));
}

TEST_CASE("the first checkpoint of a session compares what it read and writes only what differs") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  Rows rows = make_world(path);
  auto file = WorldFile::open(path);
  REQUIRE(load_all(*file));
  for (auto& [key, row] : rows) row.version = 77;
  rows.begin()->second.bytes.push_back(std::byte{1});
  const auto report = file->save({}, saving(rows));
  REQUIRE(report->rows_written == 1);
  REQUIRE(file->save({}, saving(rows))->rows_written == 0);
  REQUIRE(load_all(*file) == contents(rows));
}

TEST_CASE("a world that was never saved leaves nothing behind") {
  const Directory directory;
  {
    auto file = WorldFile::open(directory / "w.muster");
    REQUIRE(file);
    REQUIRE(file->is_new());
    REQUIRE(directory.names() == std::vector<std::string>{"w.muster-lock"});
    REQUIRE(load_all(*file) == Contents{});
  }
  REQUIRE(directory.names().empty());
}

TEST_CASE("a world closed in good order is one file and its lock file") {
  const Directory directory;
  make_world(directory / "w.muster");
  REQUIRE(directory.names() == std::vector<std::string>{"w.muster", "w.muster-lock"});
  REQUIRE(read_world(directory / "w.muster"));
  REQUIRE(directory.names() == std::vector<std::string>{"w.muster", "w.muster-lock"});
}

TEST_CASE("reading a world changes no byte of its file") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string before = read_file(path);
  REQUIRE(read_world(path));
  REQUIRE(read_file(path) == before);
}

TEST_CASE("the sequence, tick, code identity and number of a checkpoint are read back") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  {
    auto file = WorldFile::open(path);
    REQUIRE(file->save({.sequence = 5, .tick = 6, .code = "plugin 3"}, saving({})));
    REQUIRE(file->save({.sequence = 50, .tick = 60, .code = "plugin 4"}, saving({})));
  }
  auto file = WorldFile::open(path);
  REQUIRE(file);
  REQUIRE_FALSE(file->is_new());
  REQUIRE(file->meta().checkpoint == 2);
  REQUIRE(file->meta().sequence == 50);
  REQUIRE(file->meta().tick == 60);
  REQUIRE(file->meta().code == "plugin 4");
  REQUIRE(file->meta().product == "muster 0.1.0");
}

TEST_CASE("a registry that refuses the state is quoted with the place") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  make_world(path);
  const std::string before = read_file(path);
  {
    auto file = WorldFile::open(path);
    const auto loaded = file->load([](StateSource&) -> std::expected<void, StateError> {
      return std::unexpected(StateError{{StateSection::archetypes, 4, 0}, "game.Health.value: was float, is double"});
    });
    REQUIRE_FALSE(loaded);
    REQUIRE(loaded.error().code() == WorldErrorCode::incompatible);
    REQUIRE(loaded.error().what() ==
            path + ": the state is refused: archetypes 4: game.Health.value: was float, is double");
  }
  REQUIRE(read_file(path) == before);
}

TEST_CASE("a save that throws leaves the previous checkpoint") {
  const Directory directory;
  const std::string path = directory / "w.muster";
  const Rows rows = make_world(path);
  {
    auto file = WorldFile::open(path);
    REQUIRE(load_all(*file));
    REQUIRE_THROWS_AS(file->save({},
                                 [](StateSink& sink) {
                                   sink.row({}, 1, {});
                                   throw std::runtime_error("no");
                                 }),
                      std::runtime_error);
    REQUIRE(load_all(*file) == contents(rows));
  }
  REQUIRE(read_world(path) == contents(rows));
}

TEST_CASE("a path may be relative, also of a world that is still to be created") {
  const Directory directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  {
    auto file = WorldFile::open("w.muster");
    if (!file) FAIL(file.error().what());
    // It stays the same file wherever the process goes.
    std::filesystem::current_path(before);
    REQUIRE(file->save({}, saving({})));
    CHECK(file->path() == "w.muster");
  }
  CHECK(read_world(directory / "w.muster") == Contents{});
}
