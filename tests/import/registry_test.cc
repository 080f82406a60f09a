// What an import sends, carried out by the registry itself.
#include <catch2/catch.hpp>
#include <vector>

#include "client/import/model_messages.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/import/paths.h"
#include "tests/import/read.h"

namespace registry_test {

using namespace muster;

namespace {

/// Pushes a model's batches as those of a session, from ids granted to it; each must be handled in full.
std::vector<Entity> push(EntityRegistry& registry, const ImportedModel& model, const ModelPlacement& placement) {
  constexpr std::uint64_t session = 7;
  const Entity first = registry.host().grant(static_cast<std::uint32_t>(model.entities.size()), session);
  std::vector<Entity> ids;
  for (std::uint32_t i = 0; i < model.entities.size(); ++i) ids.push_back({first.index + i, first.generation});
  BatchBuilder out;
  append_model(out, model, placement, ids);
  out.for_each([&](const BatchView& batch) {
    const Receipt receipt = registry.host().push_batch(batch.bytes(), {.session = session});
    CHECK(receipt.refused == 0);
    CHECK(receipt.dead == 0);
    CHECK(receipt.handled == batch.count());
  });
  return ids;
}

using muster::test::read;

void compare(const EntityRegistry& registry, const ImportedModel& model, const std::vector<Entity>& id,
             const ModelPlacement& placement) {
  std::vector<Entity> last_child(model.entities.size());
  for (std::size_t i = 0; i < model.entities.size(); ++i) {
    const ImportedEntity& entity = model.entities[i];
    const std::string path = registry.path(id[i]);
    INFO(path);
    REQUIRE(registry.alive(id[i]));
    CHECK(registry.find_path(path) == id[i]);
    CHECK(registry.get<scene::Transform>(id[i]) == entity.transform);
    CHECK(registry.has<scene::Light>(id[i]) == entity.light.has_value());
    CHECK(registry.has<scene::Camera>(id[i]) == entity.camera.has_value());
    const auto* mesh = registry.find<scene::MeshReference>(id[i]);
    REQUIRE((mesh != nullptr) == entity.mesh.has_value());
    if (mesh) CHECK(registry.text(mesh->asset) == placement.asset);
    if (i == 0) {
      CHECK(registry.parent(id[i]) == placement.parent);
      CHECK(registry.name(id[i]) == placement.root_name);
      continue;
    }
    CHECK(registry.name(id[i]).starts_with(entity.name));
    CHECK(registry.parent(id[i]) == id[entity.parent]);
    // Siblings in the file's order: each is the next of the one before.
    Entity& before = last_child[entity.parent];
    CHECK((before ? registry.next_sibling(before) : registry.first_child(id[entity.parent])) == id[i]);
    before = id[i];
  }
}

}  // namespace

TEST_CASE("levels that are imported into a registry are there as they were read") {
  EntityRegistry registry;
  registry.add_type<scene::Transform>();
  const Entity above = registry.create("levels");
  std::size_t entities = 1;
  for (const char* file : {"living_room.glb", "room.glb", "town/town_model.gltf"}) {
    const ImportedModel model = read(test::levels / file);
    const ModelPlacement placement{.parent = above, .root_name = file, .asset = std::string("levels/") + file};
    compare(registry, model, push(registry, model, placement), placement);
    entities += model.entities.size();
  }
  CHECK(registry.entity_count() == entities);
  CHECK(registry.child_count(above) == 3);
}

TEST_CASE("a model without a name of its own for each node is imported all the same") {
  EntityRegistry registry;
  registry.add_type<scene::Transform>();
  const ImportedModel model = read(test::data / "lights_and_names.gltf");
  const ModelPlacement placement{.parent = {}, .root_name = "names", .asset = "names.gltf"};
  const auto id = push(registry, model, placement);
  compare(registry, model, id, placement);
  CHECK(registry.find_path("/names/twin~3"));
  CHECK(registry.find_path("/names/a\\/b"));
}

}  // namespace registry_test
