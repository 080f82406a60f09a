// What checkpoints of a world file write of managers.
#include <catch2/catch.hpp>

#include "registry/host.h"
#include "tests/registry/heights.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;
using heights::Heights;
using heights::Saved;

namespace {

/// How a checkpoint is written.
enum class Way { whole, copied };

/// A world file with a registry that holds Heights.
struct Level {
  explicit Level(std::string file_path, Saved saved = Saved::in_parts)
      : path(std::move(file_path)), file(WorldFile::open(path)), heights(registry, saved) {
    REQUIRE(file);
    if (file->is_new()) return;
    const auto loaded = file->load([&](StateSource& source) -> std::expected<void, StateError> {
      if (auto done = registry.load(source); !done) return std::unexpected(done.error());
      return {};
    });
    REQUIRE(loaded);
  }
  CheckpointReport save(Way way = Way::whole) {
    registry.host().begin_version();
    const auto give = [&](StateSink& sink) { registry.save(sink); };
    if (way == Way::copied) {
      std::optional<StateCopy> none;
      const auto report = file->save({}, file->preserve(give, 0, 1u << 20, none));
      REQUIRE((report && *report));
      return **report;
    }
    const auto report = file->save({}, give);
    REQUIRE(report);
    return *report;
  }

  const std::string path;
  std::expected<WorldFile, WorldError> file;
  EntityRegistry registry;
  Heights heights;
};

/// That many rows and bytes were written, and rows removed.
void check(const CheckpointReport& report, std::uint64_t rows, std::uint64_t bytes, std::uint64_t removed = 0) {
  CHECK(report.rows_written == rows);
  CHECK(report.bytes_written == bytes);
  CHECK(report.rows_removed == removed);
}

constexpr std::uint64_t head_bytes = 8 + 7 + 4;  // fixed, name, number of parts

}  // namespace

TEST_CASE("an unchanged manager costs a checkpoint no byte, and of a changed one its changed parts are written alone") {
  const Way way = GENERATE(Way::whole, Way::copied);
  const Directory directory;
  Level level(directory / "w.muster");
  for (std::uint32_t i = 0; i < 400; ++i) level.heights.set(i, static_cast<std::int32_t>(i));
  level.save(way);
  CHECK(level.heights.put_together == 100);
  check(level.save(way), 0, 0);
  level.heights.set(5, 50);
  check(level.save(way), 1, 16);
  level.heights.set(5, 51);
  level.heights.set(399, 52);
  check(level.save(way), 2, 32);
  level.heights.drop(7);
  check(level.save(way), 1, head_bytes, 1);
  level.heights.set(28, 1);
  check(level.save(way), 2, head_bytes + 16);
  check(level.save(way), 0, 0);
  CHECK(level.heights.put_together == 104);
}

TEST_CASE("an unchanged manager in one piece costs a checkpoint no byte") {
  const Way way = GENERATE(Way::whole, Way::copied);
  const Directory directory;
  Level level(directory / "w.muster", Saved::whole);
  for (std::uint32_t i = 0; i < 400; ++i) level.heights.set(i, static_cast<std::int32_t>(i));
  level.save(way);
  check(level.save(way), 0, 0);
  level.heights.set(5, 50);
  check(level.save(way), 1, 8 + 7 + 1600);
  check(level.save(way), 0, 0);
}

TEST_CASE("a world that is opened again writes nothing of managers in parts that stayed as they were") {
  const Directory directory;
  std::uint64_t hash = 0;
  {
    Level level(directory / "w.muster");
    for (std::uint32_t i = 0; i < 40; ++i) level.heights.set(i, static_cast<std::int32_t>(i));
    level.save();
    hash = level.registry.hash();
  }
  Level level(directory / "w.muster");
  CHECK(level.heights.loaded_version == 2);
  CHECK(level.registry.hash() == hash);
  check(level.save(), 0, 0);
  CHECK(level.registry.hash() == hash);
}

TEST_CASE("a world whose manager was saved in one piece opens to one in parts, and the next checkpoint writes parts") {
  const Directory directory;
  {
    Level level(directory / "w.muster", Saved::whole);
    for (std::uint32_t i = 0; i < 40; ++i) level.heights.set(i, static_cast<std::int32_t>(i));
    level.save();
  }
  std::uint64_t hash = 0;
  {
    Level level(directory / "w.muster");
    CHECK(level.heights.at(39) == 39);
    hash = level.registry.hash();
    check(level.save(), 11, 160 + head_bytes);
    check(level.save(), 0, 0);
    CHECK(level.registry.hash() == hash);
  }
  const Level level(directory / "w.muster");
  CHECK(level.heights.at(39) == 39);
  CHECK(level.registry.hash() == hash);
}
