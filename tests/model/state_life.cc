#include "tests/model/state_life.h"

#include <algorithm>

#include "registry/host.h"
#include "tests/model/participant.h"
#include "tests/model/trial_types.h"
#include "tests/support/random.h"

namespace naive {

using muster::EntityRegistry;

namespace {

/// What must hold of every registry: rows, tree and names agree with each other.
std::string unsound(const EntityRegistry& r) {
  std::uint64_t children = 0, below_roots = 0, rows = 0;
  std::string trouble;
  r.each<>([&](Entity e) {
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

}  // namespace

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
    if (i % 3 == 0) r.create_under(child, "leaf", trial::Armor{}, trial::Frozen{}).or_stop();
  }
  const std::vector<Entity> many = r.create_many(150, trial::Place{}, trial::Link{.to = root, .weight = 1});
  for (std::size_t i = 0; i < many.size(); i += 7) r.destroy(many[i]);
  muster::TemplateTree tree("t.0");
  tree.set("", trial::Life{.value = 3, .most = 4}).set("arm", trial::Link{}).set("arm/leaf", trial::Flags{});
  tree.refer("arm", &trial::Link::to, "").message("arm", trial::Hit{.amount = 1});
  r.define_template(tree);
  r.spawn("t.0", {.parent = root, .count = 3}, muster::Has<Voice>{}).or_stop();
  r.set(many[3], muster::Has<Voice>{}, muster::Has<Spark>{});
  for (std::uint32_t i = 1; i < 5; ++i) r.push(many[i], trial::Stock{.amount = i});
  r.set_handler_enabled("poke.life", false);
  for (std::size_t i = 1; i < 30; ++i) {
    r.set(many[i], trial::Shield{.strength = 3, .left = 0, .by = root});
    if (i % 3 == 0) r.set(many[i], trial::Stunned{});
    if (i % 4 == 0) r.remove<trial::Shield>(many[i]);
  }
  r.host().grant(5, 3);
  r.post_at(1000, root, trial::Hit{.amount = 1, .from = root});
  r.post_at(2000, trial::Tick{.step = 1});
  r.flush();
  r.advance(10);
  r.push(root, trial::Chain{.hops = 4, .seed = 1, .to = many[1]});  // more than one cascade delivers
  r.post(root, trial::Poke{.value = static_cast<std::uint32_t>(random.below(100))});
  r.post(many[2], trial::Poke{.value = 2});
  return made.save();
}

std::string load_and_live(const StateRows& rows, bool& accepted, bool briefly) {
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
  if (!briefly)
    if (std::string trouble = round_trip(); !trouble.empty()) return trouble;
  EntityRegistry& r = loaded.registry;
  r.flush();
  std::vector<Entity> all;
  r.each<>([&](Entity e) { all.push_back(e); });
  const auto some = std::min<std::size_t>(all.size(), briefly ? 4 : 20);
  for (std::size_t i = 0; i < some; ++i) {
    (void)r.create_under(all[i], "new", trial::Life{});
    r.rename(all[i], "renamed");
    r.reparent(all[all.size() - 1 - i], all[i]);
    (void)r.path(all[i]);
  }
  Entity parent;
  for (const Entity e : r.create_many(briefly ? 40 : 1100, trial::Tally{})) {
    if (parent) r.reparent(e, parent);
    if (e.index % 3 == 0) parent = r.depth(e) < 4 ? e : Entity{};
  }
  for (int i = 0; i < 3; ++i) {
    (void)r.spawn(template_name(0), {.parent = all.empty() ? Entity{} : all[0]});
    if (!all.empty()) r.apply_template(all[0], template_name(0));
  }
  r.push(trial::Tick{.step = 4});
  r.advance(5000);
  for (int i = 0; i < 20; ++i) r.flush();
  if (std::string trouble = round_trip(); !trouble.empty()) return "after living on, " + trouble;
  if (briefly) return {};
  for (std::size_t i = 0; i < some; ++i) r.destroy(all[i]);
  if (std::string trouble = round_trip(); !trouble.empty()) return "after destroying, " + trouble;
  return {};
}

const std::set<std::string>& state_sections() {
  static const std::set<std::string> sections{"registry", "schema",   "directory", "free_queue", "archetypes",
                                              "chunks",   "columns",  "hierarchy", "texts",      "pending",
                                              "timers",   "managers", "templates", "disabled",   "manager_parts"};
  return sections;
}

}  // namespace naive
