// Models on their way from the reader's process.
#include "client/import/model_bytes.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/seeds.h"

using namespace muster;

namespace {

ImportedModel full() {
  ImportedModel model;
  model.entities.resize(3);
  model.entities[0].name = "r\xc3\xb6ot";
  model.entities[1].parent = 0;
  model.entities[1].depth = 1;
  model.entities[1].transform.position.y = 4;
  model.entities[1].light = scene::Light{.intensity = 3, .kind = scene::LightKind::spot};
  model.entities[1].camera = scene::Camera{.fov = 20};
  model.entities[2].parent = 1;
  model.entities[2].depth = 2;
  model.entities[2].is_part = true;
  model.entities[2].mesh = ImportedMesh{
      .name = "m", .index = 7, .bounds = scene::Shape{.size = {.x = 2, .y = 3, .z = 4}}, .color = scene::Color{}};
  model.warnings = {"a warning.", ""};
  return model;
}

}  // namespace

TEST_CASE("a model's bytes are that model again") {
  const ImportedModel model = full();
  const auto again = model_from(model_bytes(model));
  REQUIRE(again);
  CHECK(again->warnings == model.warnings);
  REQUIRE(again->entities.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const ImportedEntity &a = again->entities[i], &b = model.entities[i];
    CHECK(a.parent == b.parent);
    CHECK(a.depth == b.depth);
    CHECK(a.is_part == b.is_part);
    CHECK(a.name == b.name);
    CHECK(a.transform == b.transform);
    CHECK(a.light == b.light);
    CHECK(a.camera == b.camera);
    CHECK(a.mesh.has_value() == b.mesh.has_value());
  }
  CHECK(again->entities[2].mesh->name == "m");
  CHECK(again->entities[2].mesh->index == 7);
  CHECK(again->entities[2].mesh->bounds == model.entities[2].mesh->bounds);
  CHECK(again->entities[2].mesh->color == model.entities[2].mesh->color);
  const auto reason = model_from(refusal_bytes("no"));
  REQUIRE_FALSE(reason);
  CHECK(reason.error() == "no");
}

TEST_CASE("bytes that are cut off anywhere, or go on, are no model") {
  const std::vector<std::byte> whole = model_bytes(full());
  for (std::size_t kept = 0; kept < whole.size(); ++kept) CHECK_FALSE(model_from(std::span(whole).first(kept)));
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  CHECK_FALSE(model_from(longer));
}

TEST_CASE("a model that no reader makes is refused") {
  const auto refused = [](auto&& change) {
    ImportedModel model = full();
    change(model);
    return !model_from(model_bytes(model));
  };
  CHECK(refused([](ImportedModel& m) { m.entities[1].parent = 1; }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].parent = 2; }));
  CHECK(refused([](ImportedModel& m) { m.entities[0].parent = 0; }));
  CHECK(refused([](ImportedModel& m) { m.entities[2].parent = ImportedEntity::no_parent; }));
  CHECK(refused([](ImportedModel& m) { m.entities.clear(); }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].name = "\xff"; }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].name = std::string(1, '\0'); }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].transform.scale.z = std::numeric_limits<float>::quiet_NaN(); }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].camera->far = std::numeric_limits<float>::infinity(); }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].light->outer_angle = std::numeric_limits<float>::infinity(); }));
  CHECK(refused([](ImportedModel& m) { m.entities[1].light->kind = static_cast<scene::LightKind>(9); }));
  CHECK(refused([](ImportedModel& m) { m.entities[2].mesh->bounds->kind = static_cast<scene::ShapeKind>(9); }));
}

TEST_CASE("random bytes are a model or none, and harm nothing", "[random]") {
  const std::vector<std::byte> whole = model_bytes(full());
  for (const std::uint64_t seed : test::seeds("models as bytes", 1, 300)) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::vector<std::byte> bytes = whole;
    for (unsigned i = 0; i < 1 + seed % 8; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (const auto model = model_from(bytes))
      for (std::size_t i = 1; i < model->entities.size(); ++i) REQUIRE(model->entities[i].parent < i);
  }
}
