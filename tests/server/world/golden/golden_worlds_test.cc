// Worlds that older code wrote open with what is listed beside them, and are saved as worlds of today.
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/server/world/golden/golden_worlds.h"
#include "tests/server/world/saved_by_hand.h"
#include "tests/support/folder.h"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::golden;
using muster::test::Folder;
using muster::test::read_file;

namespace {

/// On a memory disk: these tests sync much.
struct Copies : Folder {
  Copies() : Folder(muster::test::memory_disk()) {}
  std::string of(const std::string& name) const {
    const std::string path = *this / name;
    std::filesystem::copy_file(std::string(MUSTER_GOLDEN_BUILT) + "/" + name, path);
    return path;
  }
};

World open(const std::string& path, const std::string& schema = "now") {
  return World(
      path, [&](EntityRegistry& r) { return schema.empty() ? Handlers{} : know(r, schema); },
      muster::test::saved_by_hand({.hz = 60}));
}

/// What is listed beside the world; where something else is found, that is left in a file, to be looked at and taken.
void check_listed(const std::string& name, const std::string& found) {
  const std::string listed = read_file(std::string(MUSTER_GOLDEN_LISTS) + "/" + name + ".txt");
  if (listed == found) {
    CHECK(listed == found);
    return;
  }
  const std::string left = std::string(MUSTER_GOLDEN_BUILT) + "/" + name + ".found.txt";
  muster::test::write_file(left, found);
  FAIL_CHECK(name << " is not as " << name << ".txt lists it; what was found is in " << left);
}

}  // namespace

TEST_CASE("golden worlds open with what is listed, are saved, and open again with the same and nothing to convert") {
  const std::string name = GENERATE("format2", "journal", "first", "second", "waiting");
  CAPTURE(name);
  const Copies copies;
  const std::string path = copies.of(name + ".world");
  std::string saved;
  {
    World world = open(path);
    const Listing found = list(world);
    check_listed(name, found.opened + found.state);
    world.save();
    saved = list(world).state;
    CHECK(saved == found.state);
  }
  const World again = open(path);
  const Listing found = list(again);
  CHECK(found.state == saved);
  CHECK(found.opened == "");
}

TEST_CASE("golden worlds open likewise to a program that knows nothing of their game, or what they were saved with") {
  const auto [name, schema] =
      GENERATE(table<std::string, std::string>({{"format2", "now"}, {"first", "first"}, {"waiting", "first"}}));
  CAPTURE(name);
  const Copies copies;
  const std::string path = copies.of(name + ".world");
  std::string known;
  {
    const World world = open(path, schema);
    const Listing found = list(world);
    CHECK(found.opened == "");
    known = found.state;
  }
  World stranger = open(path, "");
  CHECK(list(stranger).state == known);
  stranger.save();
}

TEST_CASE("a golden world's manager gets what it saved, also after a save by a program that has none") {
  const Copies copies;
  const std::string path = copies.of("format2.world");
  const auto sum = [&] {
    World world = open(path);
    const Sums sums(world.registry());
    CHECK(sums.loaded_version == 3);
    return sums.sum;
  };
  CHECK(sum() == 42);
  open(path).save();
  CHECK(sum() == 42);
}

TEST_CASE("a golden world's manager may be in parts by now: it gets what was one row, and is saved in parts") {
  /// As Sums; each half of the sum is a part.
  struct Halves final : Manager {
    std::uint32_t low = 0, high = 0, loaded_parts = 0;
    std::uint32_t state_version() const override { return 4; }
    bool in_parts() const override { return true; }
    void save_parts(ManagerSink& to) const override {
      to.part(0, 0, std::as_bytes(std::span(&low, 1)));
      to.part(1, 0, std::as_bytes(std::span(&high, 1)));
    }
    std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override {
      if (version != 3 || bytes.size() != 8) return std::unexpected("sums of another version");
      std::memcpy(&low, bytes.data(), 4);
      std::memcpy(&high, bytes.data() + 4, 4);
      return {};
    }
    std::expected<void, std::string> load_parts(std::uint32_t, std::span<const ManagerPart> parts) override {
      if (parts.size() != 2) return std::unexpected("halves are missing");
      std::memcpy(&low, parts[0].bytes.data(), 4);
      std::memcpy(&high, parts[1].bytes.data(), 4);
      loaded_parts = 2;
      return {};
    }
  };
  const Copies copies;
  const std::string path = copies.of("format2.world");
  const auto open_and_save = [&] {
    Halves halves;
    World world = open(path);
    world.registry().add_manager(Sums::name, halves);
    CHECK(halves.low == 42);
    const std::uint64_t hash = world.registry().hash();
    world.save();
    CHECK(world.registry().hash() == hash);
    return std::pair(halves.loaded_parts, hash);
  };
  const auto [none, hash] = open_and_save();
  CHECK(none == 0);
  CHECK(open_and_save() == std::pair(2u, hash));
  World older = open(path);
  CHECK_THROWS_WITH(Sums(older.registry()),
                    "manager \"saga.sums\" rejected its saved state: it has version 4, but this build "
                    "supports at most 3");
}

namespace {

/// Lists the run, the level with its undone and redone edits, and a past state.
void check_format3(const std::string& path) {
  WorldOptions keeping = muster::test::saved_by_hand({.hz = 60, .code = "saga"});
  keeping.past_bytes = 1 << 20;
  World world(path, [](EntityRegistry& r) { return know(r, "now"); }, keeping);
  std::string found = list(world).opened + list(world).state;
  REQUIRE(world.run());
  found += "level of tick " + std::to_string(world.run()->tick) + "\n";
  for (const RunEdit& each : world.run_edits(0, 9)) found += std::to_string(each.user) + ": " + each.what + "\n";
  REQUIRE(world.stop_playing());
  found += "\n" + list(world).state;
  const Sender ann{.session = 9, .user = 3};
  const auto steps = [&] {
    for (const HistoryStep& each : world.history().list(3, 0, 9)) found += (each.redo ? "redo " : "undo ") + each.what + "\n";
  };
  steps();
  for (int i = 0; i < 3; ++i) (void)world.history().apply(HistoryAct::undo, ann, Conflicts::skip, false);
  found += "\n" + list(world).state;
  steps();
  const auto past = world.past();
  REQUIRE(past);

  found += "\n";
  for (const KeptPast& each : *past)
    found += "kept: ticks " + std::to_string(each.tick) + " to " + std::to_string(each.last_tick) + "\n";
  // A build that did not write the journal cannot make a tick again. It can restore a save.
  const auto restored = world.restore({.time = past->back().saved});
  CAPTURE(restored ? std::string() : std::string(restored.error().what()));
  CHECK(restored);
  check_listed("format3", found);
}

}  // namespace

TEST_CASE("a golden world with a run gives back the run, the level, its history, and a past state") {
  const Copies copies;
  check_format3(copies.of("format3.world"));
}

TEST_CASE("what the writer of the golden worlds writes today has the same lists") {
  const Folder folder(muster::test::memory_disk());
  write_golden_worlds(folder.path().string());
  // To make worlds of today's format: into a folder that is named here, and is not there.
  if (const char* kept = std::getenv("MUSTER_KEEP_GOLDEN"))
    std::filesystem::copy(folder.path(), kept, std::filesystem::copy_options::recursive);
  check_format3(folder / "format3.world");
  for (const std::string name : {"format2", "journal", "first", "second", "waiting"}) {
    const World world = open(folder / (name + ".world"));
    const Listing found = list(world);
    check_listed(name, found.opened + found.state);
  }
}
