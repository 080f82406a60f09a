// Random templates against trees built by hand, one message per entity.
#include <catch2/catch.hpp>

#include <random>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/templates/barracks.h"

namespace template_property_test {

using namespace muster;
using namespace barracks;

namespace {

struct Made {
  TemplateTree tree{"random"};
  /// Nodes in pre-order: parent, name, and what it has.
  struct Plan {
    std::uint32_t parent;
    std::string name;
    bool health, place, soldier, armed;
    float value;
    std::uint32_t leader;  // number of a node
  };
  std::vector<Plan> plans;
};

Made random_tree(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Made made;
  const std::uint32_t nodes = 1 + below(20);
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    std::uint32_t parent = i == 0 ? 0 : i - 1;
    for (std::uint32_t up = i == 0 ? 0 : below(3); up > 0; --up) parent = made.plans[parent].parent;
    made.plans.push_back({parent, "n" + std::to_string(i), below(2) == 0, below(2) == 0, below(3) == 0, below(4) == 0,
                          static_cast<float>(below(1000)), below(nodes)});
    paths.push_back(i == 0 ? "" : paths[parent] + (parent ? "/" : "") + made.plans[i].name);
  }
  TemplateTree& tree = made.tree;
  for (const std::string& path : paths) tree.at(path);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const Made::Plan& plan = made.plans[i];
    if (plan.health) tree.set(paths[i], Health{.value = plan.value});
    if (plan.place) tree.set(paths[i], Place{.at = {plan.value, 1, 2}});
    if (plan.armed) tree.set(paths[i], Armed{});
    if (!plan.soldier) continue;
    tree.set(paths[i], Soldier{.title = {}});
    tree.refer(paths[i], &Soldier::leader, paths[plan.leader]);
  }
  return made;
}

/// Creates what the plans say, entity by entity; then the references, whose targets may come later.
Entity by_hand(EntityRegistry& registry, const std::vector<Made::Plan>& plans) {
  BatchBuilder builder;
  std::vector<Entity> ids;
  for (const Made::Plan& plan : plans) {
    const bool root = ids.empty();
    const Entity parent = root ? Entity{} : ids[plan.parent];
    std::vector<PayloadShape> shapes;
    if (plan.health) shapes.push_back({TypeTraits<Health>::id, sizeof(Health), alignof(Health)});
    if (plan.place) shapes.push_back({TypeTraits<Place>::id, sizeof(Place), alignof(Place)});
    if (plan.soldier) shapes.push_back({TypeTraits<Soldier>::id, sizeof(Soldier), alignof(Soldier)});
    if (plan.armed) shapes.push_back({TypeTraits<Armed>::id, sizeof(Armed), alignof(Armed)});
    const RowSet rows(PayloadShape::of<Create>(), shapes);
    builder.clear();
    const Entity e = registry.host().storage().ids().peek();
    std::byte* payload = builder.append_rows(rows, e);
    const Create create{.parent = parent, .name = root ? Text{} : text_of(plan.name)};
    std::memcpy(payload, &create, sizeof create);
    const auto put = [&](const auto& value) {
      using T = std::remove_cvref_t<decltype(value)>;
      std::memcpy(payload + rows.offset(TypeTraits<T>::id), &value, sizeof value);
    };
    if (plan.health) put(Health{.value = plan.value});
    if (plan.place) put(Place{.at = {plan.value, 1, 2}});
    if (plan.soldier) put(Soldier{.title = {}});
    const Receipt receipt = registry.host().push_batch(builder.bytes());
    REQUIRE(receipt.handled == 1);
    ids.push_back(e);
  }
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (plans[i].soldier) registry.set(ids[i], Soldier{.leader = ids[plans[i].leader], .title = {}});
  return ids[0];
}

void level_sequences(EntityRegistry& a, EntityRegistry& b) {
  while (a.sequence() < b.sequence()) a.push(Update{});
  while (b.sequence() < a.sequence()) b.push(Update{});
}

}  // namespace

TEST_CASE("nebula 24: random templates spawn what the same messages one by one make") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const Made made = random_tree(seed);
    EntityRegistry spawned, built, copied;
    for (EntityRegistry* registry : {&spawned, &built, &copied}) {
      registry->add_type<Health>();
      REQUIRE(registry->define_template(made.tree).refused == 0);
    }
    for (int round = 0; round < 2; ++round) {
      const Entity root = spawned.spawn("random");
      REQUIRE(root);
      CHECK(by_hand(built, made.plans) == root);
    }
    level_sequences(spawned, built);
    CHECK(spawned.hash() == built.hash());
    // A template taken from what was spawned spawns the same again.
    const Entity root = copied.spawn("random");
    REQUIRE(copied.define_template(TemplateTree::of(copied, root, "taken")).refused == 0);
    copied.spawn("taken").or_stop();
    CHECK(copied.entity_count() == 2 * made.plans.size());
    // Both trees hold the same values, references taken relative to their roots.
    const auto again = [&](Entity top) { return *TemplateTree::of(copied, top, "x").compile(); };
    std::vector<Entity> roots;
    copied.each<>([&](Entity e) {
      if (!copied.parent(e)) roots.push_back(e);
    });
    REQUIRE(roots.size() == 2);
    CHECK(again(roots[0]) == again(roots[1]));
  }
}

TEST_CASE("a warm spawn makes no new chunk, plan or archetype") {
  EntityRegistry registry;
  const Made made = random_tree(7);
  registry.define_template(made.tree);
  std::vector<Entity> roots;
  for (int i = 0; i < 100; ++i) roots.push_back(registry.spawn("random"));
  for (const Entity root : roots) registry.destroy(root);
  const auto archetypes = registry.host().storage().next_archetype();
  const auto numbers = registry.host().storage().chunk_numbers();
  for (int i = 0; i < 100; ++i) REQUIRE(registry.spawn("random"));
  CHECK(registry.host().storage().next_archetype() == archetypes);
  CHECK(registry.host().storage().chunk_numbers() == numbers);
}

}  // namespace template_property_test
