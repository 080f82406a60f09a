// The batches an import sends, judged by the verifier and carried out by the simplest world that could take them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "client/import/model_messages.h"
#include "messages/judge/verifier.h"
#include "schema/muster.h"
#include "tests/import/paths.h"
#include "tests/import/read.h"

using namespace muster;

namespace {

/// Does Create and InternText, strictly: an unknown text, a dead parent, a taken name or id fails the test.
struct NaiveWorld {
  struct Row {
    Entity parent;
    std::string name;
    std::vector<Entity> children;
    std::map<TypeId, std::vector<std::byte>> components;
  };
  TypeTable types;
  std::map<std::uint64_t, std::string> texts;
  std::map<Entity, Row> rows;  // the nil entity's children are the roots
  unsigned batches = 0;

  NaiveWorld() {
    rows[{}];
    REQUIRE(types.add<Create>());
    REQUIRE(types.add<scene::Transform>());
  }

  void take(const BatchView& batch) {
    ++batches;
    const auto judged = verify_batch(batch.bytes(), types, {.values = true});
    if (!judged) FAIL(judged.error().text);
    if (batch.type() == TypeTraits<InternText>::id) return take_texts(batch);
    REQUIRE(batch.type() == TypeTraits<Create>::id);
    REQUIRE(batch.has_rows());
    std::uint32_t components;
    const std::byte* set = batch.bytes().data() + sizeof(BatchHeader);
    std::memcpy(&components, set, 4);
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      Row& row = create(batch, i);
      for (std::uint32_t c = 0; c < components; ++c) {
        RowSetEntry entry;
        std::memcpy(&entry, set + 8 + c * 8, 8);
        const std::byte* value = batch.payload(i) + entry.offset;
        row.components[entry.type].assign(value, value + types.find(entry.type)->size);
      }
    }
  }

  template <class C>
  const C* find(Entity e) const {
    const auto& components = rows.at(e).components;
    const auto found = components.find(TypeTraits<C>::id);
    return found == components.end() ? nullptr : reinterpret_cast<const C*>(found->second.data());
  }

 private:
  void take_texts(const BatchView& batch) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      CHECK_FALSE(item.target);
      const std::string_view text = InternTextView::from(item.table).text();
      CHECK(texts.emplace(hash64(text), text).second);
      at = item.next;
    }
  }

  Row& create(const BatchView& batch, std::uint32_t i) {
    Create create;
    std::memcpy(&create, batch.payload(i), sizeof create);
    const Entity id = batch.target(i);
    REQUIRE(rows.count(id) == 0);
    REQUIRE(rows.count(create.parent) == 1);
    if (create.name) REQUIRE(texts.count(create.name.hash) == 1);
    const std::string name = create.name ? texts[create.name.hash] : "";
    auto& siblings = rows[create.parent].children;
    for (const Entity sibling : siblings) REQUIRE((name.empty() || rows[sibling].name != name));
    const auto place = create.before ? std::ranges::find(siblings, create.before) : siblings.end();
    if (create.before) REQUIRE(place != siblings.end());
    siblings.insert(place, id);
    return rows[id] = Row{create.parent, name, {}, {}};
  }
};

std::vector<Entity> ids(std::size_t count) {
  std::vector<Entity> result;
  for (std::uint32_t i = 0; i < count; ++i) result.push_back({1000 + i, 1});
  return result;
}

template <class T>
bool same(const T* a, const std::optional<T>& b) {
  if (!a || !b) return !a && !b;
  return std::memcmp(a, &*b, sizeof(T)) == 0;
}

/// The world holds exactly the model: parents, order, names but for suffixes, values.
void compare(const NaiveWorld& world, const ImportedModel& model, const ModelPlacement& placement,
             const std::vector<Entity>& id) {
  REQUIRE(world.rows.size() == model.entities.size() + 1);
  std::map<Entity, std::vector<Entity>> children;
  for (std::size_t i = 0; i < model.entities.size(); ++i) {
    const ImportedEntity& entity = model.entities[i];
    const auto& row = world.rows.at(id[i]);
    const Entity parent = i == 0 ? placement.parent : id[entity.parent];
    CHECK(row.parent == parent);
    children[parent].push_back(id[i]);
    if (i > 0) CHECK((row.name == entity.name || row.name.starts_with(entity.name + "~")));
    CHECK(same(world.find<scene::Transform>(id[i]), std::optional(entity.transform)));
    CHECK(same(world.find<scene::Light>(id[i]), entity.light));
    CHECK(same(world.find<scene::Camera>(id[i]), entity.camera));
    const auto* mesh = world.find<scene::MeshReference>(id[i]);
    REQUIRE((mesh != nullptr) == entity.mesh.has_value());
    if (!mesh) continue;
    CHECK(world.texts.at(mesh->asset.hash) == placement.asset);
    CHECK((mesh->mesh ? world.texts.at(mesh->mesh.hash) : "") == entity.mesh->name);
    CHECK(mesh->index == entity.mesh->index);
    CHECK(same(world.find<scene::Shape>(id[i]), entity.mesh->bounds));
    CHECK(same(world.find<scene::Color>(id[i]), entity.mesh->color));
  }
  for (const auto& [parent, expected] : children) CHECK(world.rows.at(parent).children == expected);
}

using muster::test::read;

}  // namespace

TEST_CASE("a model's batches pass the verifier and make its tree, in its order") {
  const auto file = GENERATE(test::levels / "living_room.glb", test::levels / "room.glb",
                             test::levels / "town/town_model.gltf", test::data / "lights_and_names.gltf");
  INFO(file.string());
  const ImportedModel model = read(file);
  const ModelPlacement placement{.parent = {}, .root_name = "level", .asset = "levels/" + file.filename().string()};
  const auto id = ids(model.entities.size());
  BatchBuilder out;
  append_model(out, model, placement, id);
  NaiveWorld world;
  out.for_each([&](const BatchView& batch) { world.take(batch); });
  compare(world, model, placement, id);
  CHECK(world.rows.at(id[0]).name == "level");
}

TEST_CASE("equal names get the next free suffix, past one that the file has itself") {
  const ImportedModel model = read(test::data / "lights_and_names.gltf");
  BatchBuilder out;
  append_model(out, model, {.parent = {}, .root_name = "", .asset = "a.gltf"}, ids(model.entities.size()));
  NaiveWorld world;
  out.for_each([&](const BatchView& batch) { world.take(batch); });
  std::multiset<std::string> names;
  for (const auto& [entity, row] : world.rows) names.insert(row.name);
  for (const char* name : {"twin", "twin~2", "twin~3", "a/b", "root"}) CHECK(names.count(name) == 1);
}

TEST_CASE("equal names as long as a world takes are cut before their suffix") {
  ImportedModel model;
  model.entities.resize(13);
  for (std::uint32_t i = 1; i < model.entities.size(); ++i) {
    model.entities[i].parent = 0;
    model.entities[i].depth = 1;
    for (unsigned k = 0; k < 127; ++k) model.entities[i].name += "\xc3\xa4";
  }
  BatchBuilder out;
  append_model(out, model, {.parent = {}, .root_name = "names", .asset = "a.gltf"}, ids(model.entities.size()));
  NaiveWorld world;
  out.for_each([&](const BatchView& batch) { world.take(batch); });
  std::set<std::string> names;
  for (const auto& [entity, row] : world.rows) {
    CHECK(row.name.size() <= 255);
    names.insert(row.name);
  }
  CHECK(names.size() == 14);  // with that of the nil entity
}

TEST_CASE("long names that are cut to one text get their suffixes in one pass over them") {
  // 200,000 names of 255 bytes, each twice. A pass over the suffixes for each name takes minutes.
  ImportedModel model;
  model.entities.resize(1);
  for (unsigned i = 0; i < 400'000; ++i) {
    const std::string number = std::to_string(1'0000'000 + i / 2);
    ImportedEntity& child = model.entities.emplace_back();
    child.parent = 0;
    child.depth = 1;
    child.name = std::string(255 - number.size(), 'a') + number;
  }
  BatchBuilder builder;
  append_model(builder, model, {.parent = {}, .root_name = "root", .asset = ""}, ids(model.entities.size()));
  std::set<std::string> names;
  for_each_batch(builder.bytes(), [&](BatchView batch) {
    if (batch.type() != TypeTraits<InternText>::id) return;
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      names.emplace(InternTextView::from(item.table).text());
      at = item.next;
    }
  });
  CHECK(names.size() == 400'001);
  CHECK(std::ranges::all_of(names, [](const std::string& name) { return name.size() <= 255; }));
}

TEST_CASE("a name in the file is kept, and one that is made up gets the suffix") {
  ImportedModel model;
  model.entities.resize(1);
  for (const bool is_named : {false, true}) {
    ImportedEntity& child = model.entities.emplace_back();
    child.parent = 0;
    child.depth = 1;
    child.is_named = is_named;
    child.name = "wall-0";
  }
  BatchBuilder builder;
  const auto id = ids(3);
  append_model(builder, model, {.parent = {}, .root_name = "root", .asset = ""}, id);
  NaiveWorld world;
  for_each_batch(builder.bytes(), [&](BatchView batch) { world.take(batch); });
  CHECK(world.rows.at(id[1]).name == "wall-0~2");
  CHECK(world.rows.at(id[2]).name == "wall-0");
}

TEST_CASE("children of mixed components stay in the file's order, in few batches") {
  ImportedModel model;
  model.entities.resize(9001);
  for (std::uint32_t i = 1; i < model.entities.size(); ++i) {
    auto& entity = model.entities[i];
    entity.parent = 0;
    entity.depth = 1;
    entity.name = "same";
    entity.transform.position.x = static_cast<float>(i);
    if (i % 3 == 1) entity.light = scene::Light{};
    if (i % 7 == 2) entity.mesh = ImportedMesh{.name = "m", .index = i, .bounds = scene::Shape{}, .color = {}};
  }
  const ModelPlacement placement{.parent = {}, .root_name = "many", .asset = "many.glb"};
  const auto id = ids(model.entities.size());
  BatchBuilder out;
  append_model(out, model, placement, id);
  TypeTable types;
  REQUIRE(types.add<Create>());
  REQUIRE(types.add<scene::Transform>());
  std::vector<Entity> order;
  std::set<std::uint64_t> names;
  unsigned batches = 0;
  out.for_each([&](const BatchView& batch) {
    ++batches;
    REQUIRE(verify_batch(batch.bytes(), types, {.values = true}));
    if (batch.type() != TypeTraits<Create>::id) return;
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      Create create;
      std::memcpy(&create, batch.payload(i), sizeof create);
      order.insert(create.before ? std::ranges::find(order, create.before) : order.end(), batch.target(i));
      names.insert(create.name.hash);
    }
  });
  CHECK(order.size() == id.size());
  std::vector<Entity> children(id.begin() + 1, id.end());
  std::erase(order, id[0]);
  CHECK(order == children);
  CHECK(names.size() == model.entities.size());
  CHECK(batches < 20);
}

TEST_CASE("the root gets a free name by itself, and its batch holds nothing else") {
  CHECK(free_name("town", [](std::string_view) { return false; }) == "town");
  const std::set<std::string, std::less<>> taken{"town", "town~2", "town~4"};
  CHECK(free_name("town", [&](std::string_view name) { return taken.contains(name); }) == "town~3");

  const ImportedModel model = read(test::levels / "room.glb");
  BatchBuilder out;
  append_model(out, model, {.parent = {}, .root_name = "", .asset = "room.glb"}, ids(model.entities.size()));
  std::vector<std::uint32_t> counts;
  out.for_each([&](const BatchView& batch) {
    if (batch.type() == TypeTraits<Create>::id) counts.push_back(batch.count());
  });
  REQUIRE(counts.size() >= 2);
  CHECK(counts[0] == 1);
}

TEST_CASE("a world without the types of scenes is told which one is missing") {
  TypeTable types;
  CHECK(missing_import_types(types).find("muster.Create") != std::string::npos);
  REQUIRE(types.add<Create>());
  CHECK(missing_import_types(types).find("scene.Transform") != std::string::npos);
  REQUIRE(types.add<scene::Transform>());
  CHECK(missing_import_types(types).empty());
}
