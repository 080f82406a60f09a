// Saved state that was tampered with: either it is refused, saying where, or what it gives is a registry like any other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <set>
#include <string>

#include "tests/model/participant.h"
#include "tests/model/program.h"
#include "tests/model/random.h"
#include "tests/model/settings.h"
#include "tests/model/trial_types.h"

using namespace naive;
using muster::EntityRegistry;
using muster::StateKey;
using muster::StateSection;

namespace {

/// A world with a bit of everything: a tree, names, several archetypes and chunks, freed, reserved, granted and waiting
/// things.
StateRows some_state(std::uint64_t seed) {
  Participant made({.cascade_messages_max = 5});
  Random random(seed);
  const auto kinds = handler_kinds();
  std::vector<Subscribed> subscribed;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) subscribed.push_back({kind, 0, kind, kinds[kind].name, {}});
  for (const Subscribed& each : subscribed) made.subscribe(each);
  active_recorder = &made.recorder;
  EntityRegistry& r = made.registry;
  const Entity root = r.create("root", trial::Life{}, trial::Flags{});
  for (int i = 0; i < 12; ++i) {
    const Entity child =
        r.create_under(root, i % 2 ? "orc" + std::to_string(i) : std::string(), trial::Life{}, trial::Tally{});
    if (i % 3 == 0) r.create_under(child, "leaf", trial::Armor{}, trial::Frozen{});
  }
  const std::vector<Entity> many = r.create_many(150, trial::Place{}, trial::Link{.to = root, .weight = 1});
  for (std::size_t i = 0; i < many.size(); i += 7) r.destroy(many[i]);
  muster::TemplateTree tree("t.0");
  tree.set("", trial::Life{.value = 3, .most = 4}).set("arm", trial::Link{}).set("arm/leaf", trial::Flags{});
  tree.refer("arm", &trial::Link::to, "").message("arm", trial::Hit{.amount = 1});
  r.define(tree);
  r.spawn("t.0", {.parent = root, .count = 3}, muster::Has<Voice>{});
  r.set(many[3], muster::Has<Voice>{}, muster::Has<Spark>{});
  for (std::uint32_t i = 1; i < 5; ++i) r.push(many[i], trial::Stock{.amount = i});
  r.enable_handler("poke.life", false);
  r.grant(5, 3);
  r.post_at(1000, root, trial::Hit{.amount = 1, .from = root});
  r.post_at(2000, trial::Tick{.step = 1});
  r.flush();
  r.advance(10);
  r.push(root, trial::Chain{.hops = 4, .seed = 1, .to = many[1]});  // more than one cascade delivers
  r.post(root, trial::Poke{.value = static_cast<std::uint32_t>(random.below(100))});
  r.post(many[2], trial::Poke{.value = 2});
  return made.save();
}

/// What must hold of every registry: rows, tree and names agree with each other.
std::string unsound(const EntityRegistry& r) {
  std::uint64_t children = 0, below_roots = 0, rows = 0;
  std::string trouble;
  r.each_entity([&](Entity e) {
    ++rows;
    if (!trouble.empty()) return;
    const std::string who = r.path(e);
    if (e.index == 0 || e.generation == 0 || !r.alive(e)) trouble = who + " should not be alive";
    const Entity parent = r.parent(e);
    if (!parent && (r.next_sibling(e) || r.depth(e) != 0)) trouble = who + " is a root with a sibling or a depth";
    if (parent && (!r.alive(parent) || r.depth(parent) + 1 != r.depth(e))) trouble = who + " has a wrong parent";
    if (parent) ++below_roots;
    std::uint32_t found = 0;
    for (Entity child = r.first_child(e); child && found <= r.child_count(e); child = r.next_sibling(child), ++found)
      if (r.parent(child) != e) trouble = who + " has a child that is not its own";
    if (found != r.child_count(e)) trouble = who + " has another number of children than it says";
    children += found;
    if (r.has<muster::Name>(e) && (r.name(e).empty() || r.find_child(parent, r.name(e)) != e))
      trouble = who + " is not found by its name";
  });
  if (trouble.empty() && rows != r.entity_count()) trouble = "rows and count disagree";
  if (trouble.empty() && children != below_roots) trouble = "children and parents disagree";
  return trouble;
}

/// Loads; where that works, the registry must live on: deliver, save, and load again to the same.
std::string load_and_live(const StateRows& rows, bool& accepted) {
  Participant loaded({.cascade_messages_max = 5});
  const auto kinds = handler_kinds();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) loaded.subscribe({kind, 0, kind, kinds[kind].name, {}});
  RowsSource source(rows);
  active_recorder = &loaded.recorder;
  if (const auto done = loaded.registry.load(source); !done) {
    accepted = false;
    return done.error().text();
  }
  accepted = true;
  const auto round_trip = [&]() -> std::string {
    if (std::string trouble = unsound(loaded.registry); !trouble.empty()) return trouble;
    const StateRows saved = loaded.save();
    Participant again({.cascade_messages_max = 5});
    RowsSource from(saved);
    if (const auto done = again.registry.load(from); !done)
      return "what was saved cannot be loaded: " + done.error().text();
    if (again.registry.hash() != loaded.registry.hash()) return "what was saved gives another hash";
    if (again.save() != saved) return "saved again, it is not the same";
    return {};
  };
  if (std::string trouble = round_trip(); !trouble.empty()) return trouble;
  EntityRegistry& r = loaded.registry;
  r.flush();
  std::vector<Entity> all;
  r.each_entity([&](Entity e) { all.push_back(e); });
  const auto some = std::min<std::size_t>(all.size(), 20);
  for (std::size_t i = 0; i < some; ++i) {
    r.create_under(all[i], "new", trial::Life{});
    r.rename(all[i], "renamed");
    r.reparent(all[all.size() - 1 - i], all[i]);
    (void)r.path(all[i]);
  }
  Entity parent;
  for (const Entity e : r.create_many(1100, trial::Tally{})) {
    if (parent) r.reparent(e, parent);
    if (e.index % 3 == 0) parent = r.depth(e) < 4 ? e : Entity{};
  }
  for (int i = 0; i < 3; ++i) {
    r.spawn(template_name(0), {.parent = all.empty() ? Entity{} : all[0]});
    if (!all.empty()) r.merge(all[0], template_name(0));
  }
  r.push(trial::Tick{.step = 4});
  r.advance(5000);
  for (int i = 0; i < 20; ++i) r.flush();
  if (std::string trouble = round_trip(); !trouble.empty()) return "after living on, " + trouble;
  for (std::size_t i = 0; i < some; ++i) r.destroy(all[i]);
  if (std::string trouble = round_trip(); !trouble.empty()) return "after destroying, " + trouble;
  return {};
}

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

const std::set<std::string> sections{"registry", "schema",   "directory", "free_queue", "archetypes",
                                     "chunks",   "columns",  "hierarchy", "texts",      "pending",
                                     "timers",   "managers", "templates", "disabled"};

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
    if (accepted ? !text.empty() : !sections.contains(section)) {
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
  if (seeds.done() < 1000) return;
  CHECK(taken > 0);
  for (const std::string& section : sections) {
    INFO(section);
    if (section != "schema") CHECK(refused[section] > 0);
  }
}

TEST_CASE("an id whose generations are used up is retired, also across saving and loading") {
  EntityRegistry world;
  Entity root = world.create("root");
  std::vector<Entity> many = world.create_many(1200, trial::Tally{});
  for (const Entity e : many) world.destroy(e);
  StateRows rows;
  RowsSink sink(rows);
  world.save(sink);
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
  CHECK(old.storage().ids().retired() == 1);
  CHECK(old.storage().ids().free_queue().size() == 1199);
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
