// Saved state that was tampered with: either it is refused, saying where, or what it gives is a registry like any other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <set>
#include <string>

#include "registry/host.h"
#include "tests/model/participant.h"
#include "tests/model/program.h"
#include "tests/model/settings.h"
#include "tests/model/state_life.h"
#include "tests/model/trial_types.h"
#include "tests/support/random.h"

using namespace naive;
using muster::EntityRegistry;
using muster::StateKey;
using muster::StateSection;

namespace {

/// One change to the rows, in words.
std::string tamper(StateRows& rows, Random& random) {
  auto at = rows.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random.below(rows.size())));
  // Schemas are long, and looked at by the schema's own tests: mostly others.
  if (at->first.section == StateSection::schema && random.percent(90)) at = rows.begin();
  const StateKey key = at->first;
  std::vector<std::byte>& bytes = at->second;
  const std::string where = muster::StateError{key, ""}.text();
  switch (random.below(10)) {
    case 0: rows.erase(at); return where + "dropped";
    case 1: {
      const std::size_t length = random.below(bytes.size() + 1);
      bytes.resize(length);
      return where + "cut to " + std::to_string(length) + " bytes";
    }
    case 2: bytes.resize(bytes.size() + 1 + random.below(32)); return where + "made longer";
    case 3: {
      StateKey to = key;
      to.key = random.percent(50) ? to.key + 1 : random.below(1000);
      if (random.percent(20)) to.column = static_cast<std::uint32_t>(random.below(4));
      auto copy = bytes;
      rows[to] = std::move(copy);
      return where + "given again as " + muster::StateError{to, ""}.text();
    }
    case 4:
    case 5: {  // a whole word: an index, a length, a count
      if (bytes.size() < 4) return where + "left alone";
      const std::size_t word = random.below(bytes.size() / 4) * 4;
      const std::uint32_t value = random.one_of<std::uint32_t>(
          {0, 1, 2, 3, 7, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, random.small(300), random.small(300)});
      std::memcpy(bytes.data() + word, &value, 4);
      return where + "word at " + std::to_string(word) + " is " + std::to_string(value);
    }
    default: {
      if (bytes.empty()) return where + "left alone";
      const std::size_t bit = random.below(bytes.size() * 8);
      bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      return where + "bit " + std::to_string(bit) + " flipped";
    }
  }
}

}  // namespace

TEST_CASE("saved state that was not tampered with lives on") {
  bool accepted = false;
  CHECK(load_and_live(some_state(1), accepted) == "");
  CHECK(accepted);
}

// MUSTER_STATE_MUTATIONS: how many; MUSTER_STATE_SEED: the first.
TEST_CASE(
    "saved state with changed, cut, lost and doubled rows is refused, saying where, or is a world like any other") {
  Seeds seeds("MUSTER_STATE_MUTATIONS", "MUSTER_STATE_SEED", under_sanitizer ? 1000 : 2500);
  const StateRows good = some_state(1);
  std::map<std::string, std::uint64_t> refused;
  std::uint64_t taken = 0;
  for (std::uint64_t seed = 0; seeds.next(seed);) {
    Random random(seed);
    StateRows rows = good;
    std::string what = tamper(rows, random);
    if (random.percent(10)) what += "; " + tamper(rows, random);
    if (rows == good) continue;
    running(seed, 0, what.c_str());
    bool accepted = false;
    const std::string text = load_and_live(rows, accepted);
    const std::string section = accepted ? std::string() : text.substr(0, text.find(' '));
    if (accepted ? !text.empty() : !state_sections().contains(section)) {
      INFO("seed " << seed << ": " << what);
      CHECK(text == "");
    }
    if (accepted)
      ++taken;
    else
      ++refused[section];
  }
  std::printf("%llu mutations, seeds %s: %llu gave a world, the others were refused in\n",
              static_cast<unsigned long long>(seeds.done()), seeds.text().c_str(),
              static_cast<unsigned long long>(taken));
  for (const auto& [section, times] : refused)
    std::printf("  %9llu  %s\n", static_cast<unsigned long long>(times), section.c_str());
  if (seeds.done() < 2000) return;  // too few to meet every section
  CHECK(taken > 0);
  for (const std::string& section : state_sections()) {
    INFO(section);
    if (section != "schema") CHECK(refused[section] > 0);
  }
}

TEST_CASE("an id whose generations are used up is retired, also across saving and loading") {
  EntityRegistry world;
  Entity root = world.create("root");
  std::vector<Entity> many = world.create_many(1200, trial::Tally{});
  for (const Entity e : many) world.destroy(e);
  StateRows rows = saved_rows(world);
  // Every free index is at its last generation.
  std::vector<std::byte>& page = rows.at({StateSection::directory, 0, 0});
  const std::uint32_t last = 0xfffffffeu;
  for (const Entity e : many) std::memcpy(page.data() + 8 + std::size_t{e.index} * 4, &last, 4);
  EntityRegistry old;
  RowsSource source(rows);
  const auto loaded = old.load(source);
  REQUIRE(loaded);
  const Entity reused = old.create("last");
  CHECK(reused == Entity{many[0].index, last});
  REQUIRE(old.destroy(reused).handled == 1);
  CHECK_FALSE(old.alive(reused));
  CHECK(old.host().storage().ids().retired() == 1);
  CHECK(old.host().storage().ids().free_queue().size() == 1199);
  CHECK(old.push(reused, trial::Poke{}).dead == 1);
  CHECK(old.push(Entity{reused.index, 0}, trial::Poke{}).dead == 1);
  StateRows again;
  RowsSink to(again);
  old.save(to);
  EntityRegistry third;
  RowsSource from(again);
  REQUIRE(third.load(from));
  CHECK(third.hash() == old.hash());
  for (int i = 0; i < 400; ++i) CHECK(third.create().index != reused.index);
  CHECK(third.alive(root));
}
