// A world whose file is taken away just before it is closed: nothing looks at it in between.
#include <catch2/catch.hpp>
#include <filesystem>

#include "server/world/world.h"
#include "tests/registry/game.h"
#include "tests/server/world/made_up_rows.h"

using namespace muster;
using namespace muster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

namespace {

Handlers install(EntityRegistry& registry) {
  registry.add_type<game::Health>();
  return {};
}

/// A world in a folder of its own. It has "saved", which was saved, and "edited", which was
/// made after that.
struct Closed {
  /// `take_away` is called before the world is closed.
  template <class F>
  explicit Closed(Durability durability, F&& take_away) {
    World world(path, install, {.durability = durability, .autosave = {}, .on_failure = [&](const std::string& text) {
                                  said.push_back(text);
                                }});
    (void)world.registry().create("saved", game::Health{.value = 1});
    world.save();
    (void)world.registry().create("edited", game::Health{.value = 2});
    take_away(*this);
  }
  const Directory directory;
  const std::string path = directory / "w.muster", moved = directory / "moved.muster",
                    rescued = directory / "w-rescued.muster", wal = path + "-wal";
  std::vector<std::string> said;  // by the world, of what ends durability
};

/// The names of the entities of the world at `path`, and their health.
std::string entities(const std::string& path) {
  const World world(path, install, {.open = OpenMode::open_existing});
  const EntityRegistry& registry = world.registry();
  std::string text;
  registry.each<>([&](Entity e) {
    text += registry.path(e) + " " + std::to_string(static_cast<int>(registry.get<game::Health>(e).value)) + "\n";
  });
  return text;
}

}  // namespace

TEST_CASE("a world whose file is moved and that is closed at once leaves its state beside it, and says where") {
  const Closed closed(GENERATE(Durability::checkpoint, Durability::batched, Durability::each_flush),
                      [](const Closed& world) { fs::rename(world.path, world.moved); });
  REQUIRE(closed.said.size() == 1);
  CHECK_THAT(closed.said.front(), StartsWith(closed.path + ": " + closed.path + " was moved or deleted"));
  CHECK_THAT(closed.said.front(), Contains("The world as it is now was saved as " + closed.rescued));
  CHECK_FALSE(fs::exists(closed.path));
  CHECK(entities(closed.rescued) == "/saved 1\n/edited 2\n");
  // What was moved has with its -wal what was durable.
  REQUIRE(fs::exists(closed.wal));
  fs::rename(closed.wal, closed.moved + "-wal");
  CHECK_THAT(entities(closed.moved), StartsWith("/saved 1\n"));
}

TEST_CASE("a world whose file or -wal is deleted or replaced and that is closed at once leaves its state beside it") {
  enum class Way { deleted, replaced, wal_deleted };
  const Way way = GENERATE(Way::deleted, Way::replaced, Way::wal_deleted);
  std::string other;
  const Closed closed(GENERATE(Durability::checkpoint, Durability::each_flush), [&](const Closed& world) {
    if (way == Way::replaced) {
      make_world(world.moved);
      other = read_file(world.moved);
      fs::rename(world.moved, world.path);
    } else {
      fs::remove(way == Way::deleted ? world.path : world.wal);
    }
  });
  REQUIRE(closed.said.size() == 1);
  CHECK_THAT(closed.said.front(), Contains("The world as it is now was saved as " + closed.rescued));
  CHECK(entities(closed.rescued) == "/saved 1\n/edited 2\n");
  if (way == Way::replaced) CHECK(read_file(closed.path) == other);
}

TEST_CASE("a world that is closed with its file in its place leaves nothing beside it") {
  const Durability durability = GENERATE(Durability::checkpoint, Durability::batched, Durability::each_flush);
  const Closed closed(durability, [](const Closed&) {});
  CHECK(closed.said.empty());
  for (const std::string& name : closed.directory.names()) CHECK(name.starts_with("w.muster"));
  const bool records = durability != Durability::checkpoint;
  CHECK(entities(closed.path) == (records ? "/saved 1\n/edited 2\n" : "/saved 1\n"));
}
