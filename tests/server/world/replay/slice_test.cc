// A slice has everything that a replay needs, and is refused if it was cut or changed anywhere.
#include "server/world/replay/slice.h"

#include <sys/resource.h>
#include <xxhash.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>

#include "include/muster/world.h"
#include "registry/host.h"
#include "server/world/file/world_file.h"
#include "server/world/replay/replay.h"
#include "tests/registry/game.h"
#include "tests/support/folder.h"

namespace slice_test {

using namespace muster;
using Catch::Contains;

namespace {

Handlers install(EntityRegistry& r) {
  return {r.subscribe("hurt", [](const game::Damage& hit, game::Health& health) { health.value -= hit.amount; }),
          r.subscribe("grow", [](const Update&, game::Count& count) { ++count.hits; })};
}
WorldOptions options() {
  return {.hz = 20'000, .code = "game 1", .durability = Durability::each_flush, .autosave = {}};
}
/// Returns the hash at the end.
std::uint64_t record(const std::string& path, int ticks = 10) {
  World world(path, install, options());
  for (int i = 0; i < 5; ++i)
    world.registry().create("orc" + std::to_string(i), game::Health{.value = 10}, game::Count{}).or_stop();
  world.save();
  for (int i = 0; i < ticks; ++i) {
    REQUIRE(world.next_frame());
    world.registry().push(Update{.dt = 0.1f});
    if (i == ticks / 2) world.registry().create("late", game::Armor{}).or_stop();  // learns a type
    world.registry().push(world.registry().find_path("/orc1"), game::Damage{.amount = 1});
  }
  return world.registry().hash();
}

constexpr std::size_t format_at = 8;
/// Returns the slice as if another program had written it.
std::vector<std::byte> with_format(std::vector<std::byte> bytes, std::uint32_t format) {
  std::memcpy(bytes.data() + format_at, &format, sizeof format);
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size() - sizeof sum));
  std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  return bytes;
}

}  // namespace

TEST_CASE("a slice replays to the state of its world, wherever it is read") {
  const test::Folder folder(test::memory_disk());
  const std::uint64_t hash = record(folder / "w.muster");
  {
    auto file = WorldFile::open(folder / "w.muster", {.mode = OpenMode::open_existing});
    REQUIRE(file);
    const auto made = slice_of(*file);
    REQUIRE(made);
    REQUIRE(write_slice(folder / "w.slice", *made));
    CHECK(made->last_sequence() > made->sequence);
    CHECK_THAT(write_slice(folder / "w.slice", *made).error().what(), Contains("exists"));
  }
  for (const char* name : {"w.muster", "w.slice"}) {
    const auto slice = read_slice_or_world(folder / name);
    REQUIRE(slice);
    const auto report = replay(name, *slice, install, {.code = "game 1", .check = true, .workers = 2});
    INFO((report ? "" : report.error().what()));
    REQUIRE(report);
    CHECK(report->hash == hash);
    CHECK(report->tick == 10);
    CHECK(report->differences.empty());
  }
}

TEST_CASE("a replay ends after the tick that was asked for") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", 10);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  std::optional<std::uint64_t> before;
  for (const std::uint64_t tick : {0, 4, 5, 10, 99}) {
    const auto report = replay("w", *slice, install, {.code = "game 1", .to_tick = tick});
    REQUIRE(report);
    CHECK(report->tick == std::min<std::uint64_t>(tick, 10));
    CHECK(report->ticks == report->tick);
    CHECK((before != report->hash || tick == 99));
    before = report->hash;
  }
}

TEST_CASE("inputs of another build are refused unless that is asked for, and the builds are named") {
  const test::Folder folder(test::memory_disk());
  const std::uint64_t hash = record(folder / "w.muster");
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  const auto refused = replay("w", *slice, install, {.code = "game 2"});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what(), Contains("game 1") && Contains("game 2") && Contains("another build"));
  const auto report = replay("w", *slice, install, {.code = "game 2", .any_code = true});
  REQUIRE(report);
  CHECK(report->hash == hash);
  CHECK_THAT(
      replay("w", *slice, [](EntityRegistry&) -> Handlers { throw std::runtime_error("no plugin"); }).error().what(),
      Contains("no plugin"));
}

TEST_CASE("a slice that was cut or changed at any byte is refused") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", 3);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  Slice with_hashes = *slice;
  with_hashes.states = {{.sequence = slice->sequence + 1, .tick = 1, .hash = 7, .columns = {{"a.A", 1}, {"a.B", 2}}}};
  with_hashes.hashes = {{.tick = 1, .sequence = slice->sequence + 1, .columns = {{"a.B", 2}}},
                        {.tick = 2, .sequence = 99}};
  std::mt19937 random(1);
  for (const Slice& each : {*slice, with_hashes}) {
    const std::vector<std::byte> bytes = encode(each);
    const auto read = decode_slice(bytes);
    REQUIRE(read);
    CHECK(encode(*read) == bytes);
    for (std::size_t at = 0; at < bytes.size(); at += at < 4096 || at + 400 > bytes.size() ? 1 : 37) {
      std::vector<std::byte> changed = bytes;
      changed[at] ^= static_cast<std::byte>(1u << (random() % 8));
      CHECK_FALSE(decode_slice(changed));
      CHECK_FALSE(decode_slice(std::span(bytes).first(at)));
    }
  }
  const std::vector<std::byte> whole = encode(*slice);
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  CHECK_FALSE(decode_slice(longer));
  CHECK_THAT(decode_slice(std::span(whole).first(whole.size() / 2)).error(), Contains("was cut"));
  test::write_file(folder / "cut.slice",
                   std::string_view(reinterpret_cast<const char*>(whole.data()), whole.size() / 2));
  CHECK_THAT(read_slice_or_world(folder / "cut.slice").error().what(), Contains("cut.slice") && Contains("was cut"));
  CHECK_THAT(read_slice_or_world(folder / "none").error().what(), Contains("none"));
}

TEST_CASE("a slice of a newer format is refused by its number") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", 3);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  CHECK_THAT(decode_slice(with_format(encode(*slice), slice_format + 1)).error(),
             Contains("format 3") && Contains("reads formats up to 2"));
  CHECK_THAT(decode_slice(with_format(encode(*slice), 0)).error(), Contains("format 0"));
}

TEST_CASE("a slice without hashes has the format of earlier programs, and hashes are only in the newer one") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", 3);
  auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  const std::vector<std::byte> without = encode(*slice);
  CHECK(without[format_at] == std::byte{1});
  CHECK_FALSE(decode_slice(with_format(without, 2)));
  slice->hashes = {{.tick = 1, .sequence = slice->sequence + 1, .columns = {{"game.Count", 5}}}};
  const std::vector<std::byte> with = encode(*slice);
  CHECK(with[format_at] == std::byte{2});
  CHECK_FALSE(decode_slice(with_format(with, 1)));
  // Hashes that are not in order are refused.
  slice->hashes.push_back(slice->hashes.front());
  CHECK_THAT(decode_slice(encode(*slice)).error(), Contains("block"));
  slice->hashes.clear();
  slice->states = {{.sequence = 5, .tick = 1}, {.sequence = 4, .tick = 2}};
  CHECK_THAT(decode_slice(encode(*slice)).error(), Contains("block"));
}

TEST_CASE("a slice for which there is no room leaves nothing behind") {
  const test::Folder folder(test::memory_disk());
  record(folder / "w.muster", 3);
  const auto slice = read_slice_or_world(folder / "w.muster");
  REQUIRE(slice);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 1000;
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const auto written = write_slice(folder / "full.slice", *slice);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, ignored);
  CHECK_THAT(written.error().what(), Contains("full.slice") && Contains("too large"));
  for (const std::string& name : folder.names()) CHECK(name != "full.slice");
  CHECK_THAT(write_slice(folder / "no/w.slice", *slice).error().what(), Contains("No such file"));
}

}  // namespace slice_test
