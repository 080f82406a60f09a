// Which hidden differences are named, by doing every tick twice and by a checked replay.
//
// Each handler is planted in a plugin of its own name, so that its static variables are new for
// each of them, as in another process.
#include <catch2/catch.hpp>

#include <cfenv>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "include/muster/world.h"
#include "registry/host.h"
#include "server/plugins/plugins.h"
#include "server/world/replay/replay.h"
#include "tests/server/planted/planted.h"
#include "tests/support/folder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 1
#endif
#endif

namespace planted_plugin_test {

using namespace muster;

namespace {

#if defined(OWN_ALLOCATOR)
constexpr bool own_memory = false;  // fresh memory cannot be given other bytes
#else
constexpr bool own_memory = true;
#endif

enum class Found : std::uint8_t { no, yes, may };

struct Plant {
  std::string name;
  Found live;        ///< by doing every tick twice
  Found replayed;    ///< by a checked replay in another process
  std::string what;  ///< component, or a part of the text
};

std::vector<Plant> plants() {
  using enum Found;
  const Found memory = own_memory ? yes : may;
  const Found processors = std::thread::hardware_concurrency() > 1 ? yes : no;
  return {
      {"clock", yes, yes, "planted.Mark.number"},
      {"processor time", yes, yes, "planted.Mark.number"},
      {"random device", yes, yes, "planted.Mark.number"},
      {"rand()", yes, yes, "planted.Mark.number"},
      {"counter of the library", yes, yes, "planted.Mark.number"},
      {"counter of the thread", yes, yes, "planted.Mark.number"},
      {"seed of the library", no, yes, "planted.Mark.number"},
      {"seed at the first call", no, yes, "planted.Mark.number"},
      {"static cache", no, yes, "planted.Mark.number"},
      {"cache in the object", no, yes, "planted.Mark.number"},
      {"number of the processor", may, processors, "planted.Mark.number"},
      {"id of the thread", no, yes, "planted.Mark.number"},
      {"address of the component", no, yes, "planted.Mark.number"},
      {"address of the game", no, yes, "planted.Mark.number"},
      {"address of a function", no, yes, "planted.Mark.number"},
      {"address from the heap", memory, yes, "planted.Mark.number"},
      {"order of addresses", memory, memory, "planted.Mark.number"},
      {"unordered map of addresses", memory, memory, "planted.Mark.number"},
      {"unset on the heap", memory, memory, "planted.Mark.number"},
      {"unset on the stack", may, may, "planted.Mark.number"},
      {"unset padding", may, may, "planted.Gap.padding"},
      {"message changed", yes, yes, "planted.Life.value"},
      {"manager changed", yes, yes, "planted.Place.y"},
      {"message posted", yes, yes, "planted.Life.value"},
      {"rounding left", yes, yes, "rounds upward"},
      {"order of workers", no, may, "planted.Mark.number"},
      {"done once", yes, yes, "planted.Mark.other"},
      {"date in seconds", no, no, ""},
      {"id of the process", no, no, ""},
  };
}

/// Plugins that were loaded for this object alone.
std::shared_ptr<Plugins> load() {
  auto plugins = std::make_shared<Plugins>();
  plugins->load(MUSTER_TEST_PLUGINS "/libplanted.so");
  return plugins;
}
World::Install installed(const std::shared_ptr<Plugins>& plugins) {
  return [plugins](EntityRegistry& registry) { return plugins->install(registry); };
}

void fill(EntityRegistry& r) {
  for (int i = 0; i < 40; ++i)
    r.create("orc" + std::to_string(i), planted::Life{.value = 60.f + static_cast<float>(i)}, planted::Place{},
             planted::Mark{}, planted::Gap{})
        .or_stop();
}
void push_tick(EntityRegistry& r) {
  r.push(Update{.dt = 1.f / 60});
  for (int i = 0; i < 40; i += 3) r.push(r.find_path("/orc" + std::to_string(i)), planted::Hit{.amount = 2});
}

struct Planted {
  explicit Planted(const std::string& name) { ::setenv("MUSTER_PLANT", name.c_str(), 1); }
  ~Planted() { ::unsetenv("MUSTER_PLANT"); }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

std::vector<SyncDifference> found_live(const std::shared_ptr<Plugins>& plugins) {
  std::vector<SyncDifference> found;
  EntityRegistry r({.on_sync_difference = [&](const SyncDifference& each) { found.push_back(each); }});
  const Handlers own = plugins->install(r);
  fill(r);
  for (int i = 0; i < 12; ++i) {
    r.advance(16'000'000);
    push_tick(r);
  }
  return found;
}

void check(const Plant& plant, Found expected, const std::vector<SyncDifference>& found) {
  INFO(plant.name << (found.empty() ? "" : ": " + found.front().text()));
  // Another call may leave the same bytes on the stack each time.
  if (expected == Found::may && found.empty()) return;
  REQUIRE(found.empty() == (expected == Found::no));
  if (found.empty()) return;
  CHECK(found.front().handler == "\"plant\"");
  CHECK(found.front().text().contains(plant.what));
}

}  // namespace

TEST_CASE("differences that a plugin hides are named while the game runs, or not, as the docs say", "[planted]") {
  for (const Plant& plant : plants()) {
    const Planted planted(plant.name);
    check(plant, plant.live, found_live(load()));
  }
}

TEST_CASE("differences that a plugin hides are named by a checked replay, or not, as the docs say", "[planted]") {
  for (const Plant& plant : plants()) {
    const Planted planted(plant.name);
    const test::Folder folder(test::memory_disk());
    {
      const auto plugins = load();
      World world(folder / "w.muster", installed(plugins), {.hz = 20'000, .code = "1", .autosave = {}});
      fill(world.registry());
      world.save();
      for (int i = 0; i < 30; ++i) {
        REQUIRE(world.next_frame());
        push_tick(world.registry());
      }
    }
    std::fesetround(FE_TONEAREST);
    const auto slice = read_slice_or_world(folder / "w.muster");
    REQUIRE(slice);
    const auto report =
        replay("w.muster", *slice, installed(load()),
               {.code = "1", .check = true, .install_again = [] { return ReplayInstall(installed(load())); }});
    INFO(plant.name << (report ? "" : report.error().what()));
    REQUIRE(report);
    std::vector<SyncDifference> found;
    for (const ReplayDifference& each : report->differences) found.push_back(each.found);
    check(plant, plant.replayed, found);
  }
}

TEST_CASE("a plugin that hides nothing has no differences", "[planted]") {
  const Planted planted("nothing");
  CHECK(found_live(load()).empty());
}

}  // namespace planted_plugin_test
