#include <assimp/commonMetaData.h>
#include <assimp/config.h>
#include <assimp/importerdesc.h>
#include <assimp/scene.h>

#include <assimp/BaseImporter.h>
#include <algorithm>
#include <assimp/Importer.hpp>
#include <charconv>
#include <cmath>
#include <exception>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "client/import/decompose.h"
#include "client/import/file_kind.h"
#include "client/import/model.h"
#include "messages/utf8.h"

namespace muster {
namespace {

constexpr double degrees = 57.295779513082320877;
/// Beyond this part of the longest axis a transform is said to have shear. FBX pivots folded in floats stay below it.
constexpr double shear_tolerance = 1e-3;

std::string text_of(const aiString& text) { return valid_utf8({text.data, text.length}); }

/// Assimp says which of its readers made the scene.
bool is_gltf(const aiScene& scene) {
  aiString format;
  return scene.mMetaData && scene.mMetaData->Get(AI_METADATA_SOURCE_FORMAT, format) &&
         std::string_view(format.C_Str()).find("glTF") != std::string_view::npos;
}

Matrix matrix_of(const aiMatrix4x4& m) {
  return {{{m.a1, m.a2, m.a3, m.a4}, {m.b1, m.b2, m.b3, m.b4}, {m.c1, m.c2, m.c3, m.c4}, {m.d1, m.d2, m.d3, m.d4}}};
}

/// The numbers of one light, camera or mesh. Files hold negative, infinite and no numbers too, which no world takes from outside.
class Numbers {
 public:
  /// `of`: whose, for what is told: "camera \"Eye\"".
  Numbers(std::string of, std::vector<std::string>& warnings) : of_(std::move(of)), warnings_(warnings) {}

  /// The number brought within 0..most; what is none is `otherwise`. Where that changes it, a warning says so.
  float within(const char* what, double value, double most, double otherwise = 0) {
    const double kept = std::clamp(std::isfinite(value) ? value : otherwise, 0.0, most);
    if (!(kept == value)) tell(std::string("has ") + what + " " + shown(value) + "; it was made " + shown(kept) + ".");
    return static_cast<float>(kept);
  }
  void tell(const std::string& what) { warnings_.push_back(of_ + " " + what); }

 private:
  static std::string shown(double value) {
    char buffer[40];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr};
  }
  std::string of_;
  std::vector<std::string>& warnings_;
};

/// Where a light or camera sits and looks, in its node's space. `backward` need not be a unit vector; nothing is said
/// where the file gives no direction.
Decomposed frame_of(const aiVector3D& position, const aiVector3D& backward, const aiVector3D& up) {
  const aiVector3D z = backward.SquareLength() > 0 ? aiVector3D(backward).Normalize() : aiVector3D(0, 0, 1);
  aiVector3D x = up ^ z;
  if (!(x.SquareLength() > 1e-6f)) x = (std::abs(z.y) < 0.9f ? aiVector3D(0, 1, 0) : aiVector3D(0, 0, -1)) ^ z;
  x.Normalize();
  const aiVector3D y = z ^ x;
  return decompose(
      {{{x.x, y.x, z.x, position.x}, {x.y, y.y, z.y, position.y}, {x.z, y.z, z.z, position.z}, {0, 0, 0, 1}}});
}

bool is_identity(const scene::Transform& t) {
  return t.position.x == 0 && t.position.y == 0 && t.position.z == 0 && std::abs(t.rotation.w) > 0.9999999f;
}

scene::Light light_of(const aiLight& from, bool gltf, Numbers& numbers) {
  scene::Light light;
  switch (from.mType) {
    case aiLightSource_DIRECTIONAL: light.kind = scene::LightKind::directional; break;
    case aiLightSource_SPOT: light.kind = scene::LightKind::spot; break;
    case aiLightSource_AMBIENT: light.kind = scene::LightKind::ambient; break;
    case aiLightSource_AREA: light.kind = scene::LightKind::area; break;
    default: light.kind = scene::LightKind::point;
  }
  const aiColor3D& color = light.kind == scene::LightKind::ambient ? from.mColorAmbient : from.mColorDiffuse;
  const float r = numbers.within("red", color.r, 1e9), g = numbers.within("green", color.g, 1e9),
              b = numbers.within("blue", color.b, 1e9);
  // Assimp multiplies colour and intensity; what is beyond 1 was intensity.
  light.intensity = std::max({1.f, r, g, b});
  light.color = {.r = r / light.intensity, .g = g / light.intensity, .b = b / light.intensity, .a = 1};
  if (light.kind == scene::LightKind::spot) {
    // Half angles in glTF, whole ones elsewhere.
    const double whole = gltf ? 2 * degrees : degrees;
    light.inner_angle = numbers.within("inner angle", from.mAngleInnerCone * whole, 360);
    light.outer_angle = numbers.within("outer angle", from.mAngleOuterCone * whole, 360, 90);
  }
  return light;
}

scene::Camera camera_of(const aiCamera& from, bool gltf, Numbers& numbers) {
  scene::Camera camera;
  camera.near = numbers.within("near", from.mClipPlaneNear, 1e9, 0.1);
  camera.far = numbers.within("far", from.mClipPlaneFar, 1e9, 1000);
  camera.aspect = numbers.within("aspect", from.mAspect, 1000);
  const double aspect = camera.aspect > 0 ? camera.aspect : 1;
  const double angle = from.mHorizontalFOV;
  // glTF's vertical angle comes multiplied by the aspect; others are horizontal angles.
  const double vertical = gltf ? angle / aspect : 2 * std::atan(std::tan(angle / 2) / aspect);
  if (angle > 0) camera.fov = numbers.within("field of view", vertical * degrees, 180, camera.fov);
  if (from.mOrthographicWidth > 0) camera.height = numbers.within("height", 2 * from.mOrthographicWidth / aspect, 1e9);
  return camera;
}

ImportedMesh mesh_of(const aiScene& scene, unsigned index, std::vector<std::string>& warnings) {
  const aiMesh& from = *scene.mMeshes[index];
  ImportedMesh mesh{.name = text_of(from.mName), .index = index, .bounds = {}, .color = {}};
  Numbers numbers("mesh \"" + mesh.name + "\" (" + std::to_string(index) + ")", warnings);
  aiVector3D low(INFINITY), high(-INFINITY);
  unsigned left_out = 0;
  for (unsigned i = 0; i < from.mNumVertices && from.mVertices; ++i) {
    const aiVector3D& v = from.mVertices[i];
    if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z)) {
      ++left_out;
      continue;
    }
    low = {std::min(low.x, v.x), std::min(low.y, v.y), std::min(low.z, v.z)};
    high = {std::max(high.x, v.x), std::max(high.y, v.y), std::max(high.z, v.z)};
  }
  if (left_out > 0)
    numbers.tell("has " + std::to_string(left_out) + " vertices that are not finite; its bounds leave them out.");
  if (const aiVector3D size = high - low;
      low.x <= high.x && !(std::isfinite(size.x) && std::isfinite(size.y) && std::isfinite(size.z))) {
    numbers.tell("is larger than a number can say; it has no bounds.");
  } else if (low.x <= high.x) {
    const aiVector3D center = low * 0.5f + high * 0.5f;
    mesh.bounds = scene::Shape{.center = {.x = center.x, .y = center.y, .z = center.z},
                               .size = {.x = size.x, .y = size.y, .z = size.z},
                               .kind = scene::ShapeKind::box};
  }
  if (from.mMaterialIndex < scene.mNumMaterials) {
    const aiMaterial& material = *scene.mMaterials[from.mMaterialIndex];
    aiColor4D c;
    if (material.Get(AI_MATKEY_BASE_COLOR, c) == AI_SUCCESS || material.Get(AI_MATKEY_COLOR_DIFFUSE, c) == AI_SUCCESS)
      mesh.color = scene::Color{.value = {.r = numbers.within("red", c.r, 1e6, 1),
                                          .g = numbers.within("green", c.g, 1e6, 1),
                                          .b = numbers.within("blue", c.b, 1e6, 1),
                                          .a = numbers.within("alpha", c.a, 1, 1)}};
  }
  return mesh;
}

/// Turns one scene into a model. A class only because every step needs the scene and the model.
class Reader {
 public:
  explicit Reader(const aiScene& scene) : scene_(scene), gltf_(is_gltf(scene)) {
    for (unsigned i = 0; i < scene.mNumLights; ++i) lights_.emplace(scene.mLights[i]->mName.C_Str(), scene.mLights[i]);
    for (unsigned i = 0; i < scene.mNumCameras; ++i)
      cameras_.emplace(scene.mCameras[i]->mName.C_Str(), scene.mCameras[i]);
  }

  ImportedModel read() {
    struct Pending {
      const aiNode* node;
      std::uint32_t parent;
    };
    std::vector<Pending> stack{{scene_.mRootNode, ImportedEntity::no_parent}};
    while (!stack.empty()) {
      const Pending next = stack.back();
      stack.pop_back();
      const std::uint32_t place = add_node(*next.node, next.parent);
      for (unsigned i = next.node->mNumChildren; i-- > 0;) stack.push_back({next.node->mChildren[i], place});
    }
    for (const auto& [name, light] : lights_)
      model_.warnings.push_back("light \"" + std::string(name) + "\" was left out: no node has its name.");
    for (const auto& [name, camera] : cameras_)
      model_.warnings.push_back("camera \"" + std::string(name) + "\" was left out: no node has its name.");
    return std::move(model_);
  }

 private:
  ImportedEntity& add(std::uint32_t parent, std::string name, bool is_part) {
    ImportedEntity entity;
    entity.parent = parent;
    entity.depth = parent == ImportedEntity::no_parent ? 0 : model_.entities[parent].depth + 1;
    entity.is_part = is_part;
    entity.name = std::move(name);
    model_.entities.push_back(std::move(entity));
    return model_.entities.back();
  }

  std::uint32_t add_node(const aiNode& node, std::uint32_t parent) {
    const auto place = static_cast<std::uint32_t>(model_.entities.size());
    const Decomposed local = decompose(matrix_of(node.mTransformation));
    ImportedEntity& entity = add(parent, text_of(node.mName), false);
    entity.transform = local.transform;
    if (!local.finite)
      model_.warnings.push_back("node \"" + entity.name + "\" (" + std::to_string(place) +
                                ") has a transform that is not finite; it stands where its parent does.");
    else if (local.error > shear_tolerance)
      model_.warnings.push_back("node \"" + entity.name + "\" (" + std::to_string(place) +
                                ") has a sheared transform; its shear is left out.");
    add_meshes(node, place);
    add_light(node, place);
    add_camera(node, place);
    return place;
  }

  void add_meshes(const aiNode& node, std::uint32_t place) {
    for (unsigned i = 0; i < node.mNumMeshes; ++i) {
      const unsigned index = node.mMeshes[i];
      if (index >= scene_.mNumMeshes) {
        model_.warnings.push_back("node \"" + model_.entities[place].name + "\" names mesh " + std::to_string(index) +
                                  " of " + std::to_string(scene_.mNumMeshes) + "; it was left out.");
        continue;
      }
      ImportedMesh mesh = mesh_of(scene_, index, model_.warnings);
      if (node.mNumMeshes == 1)
        model_.entities[place].mesh = std::move(mesh);
      else {
        std::string name = mesh.name.empty() ? "mesh" : mesh.name;
        add(place, std::move(name), true).mesh = std::move(mesh);
      }
    }
  }

  void add_light(const aiNode& node, std::uint32_t place) {
    const auto found = lights_.find(node.mName.C_Str());
    if (found == lights_.end()) return;
    const aiLight& from = *found->second;
    lights_.erase(found);
    Numbers numbers("light \"" + text_of(from.mName) + "\"", model_.warnings);
    scene::Light light = light_of(from, gltf_, numbers);
    if (float range = 0; node.mMetaData && node.mMetaData->Get("PBR_LightRange", range))
      light.range = numbers.within("range", range, 1e9);
    const bool directed = light.kind != scene::LightKind::point && light.kind != scene::LightKind::ambient;
    const aiVector3D backward = directed ? from.mDirection * -1.f : aiVector3D(0, 0, 1);
    const aiVector3D position = light.kind == scene::LightKind::directional ? aiVector3D() : from.mPosition;
    entity_for(place, "light", frame_of(position, backward, from.mUp)).light = light;
  }

  void add_camera(const aiNode& node, std::uint32_t place) {
    const auto found = cameras_.find(node.mName.C_Str());
    if (found == cameras_.end()) return;
    const aiCamera& from = *found->second;
    cameras_.erase(found);
    aiVector3D position = from.mPosition;
    // Assimp's glTF reader says a camera node's own position a second time here.
    const aiMatrix4x4& local = node.mTransformation;
    if (gltf_ && position == aiVector3D(local.a4, local.b4, local.c4)) position = {};
    Numbers numbers("camera \"" + text_of(from.mName) + "\"", model_.warnings);
    entity_for(place, "camera", frame_of(position, from.mLookAt * -1.f, from.mUp)).camera =
        camera_of(from, gltf_, numbers);
  }

  /// The node's own entity, or a part of it where the frame differs from the node's.
  ImportedEntity& entity_for(std::uint32_t place, const char* part, const Decomposed& frame) {
    if (!frame.finite || is_identity(frame.transform)) return model_.entities[place];
    ImportedEntity& entity = add(place, part, true);
    entity.transform = frame.transform;
    return entity;
  }

  const aiScene& scene_;
  const bool gltf_;
  std::unordered_map<std::string_view, const aiLight*> lights_;  // those not met yet
  std::unordered_map<std::string_view, const aiCamera*> cameras_;
  ImportedModel model_;
};

/// Takes away the readers that fit neither the file's suffix nor its first bytes.
void keep_fitting_readers(Assimp::Importer& importer, const FileKind& kind) {
  for (std::size_t i = importer.GetImporterCount(); i-- > 0;) {
    const aiImporterDesc* description = importer.GetImporterInfo(i);
    if (description && description->mFileExtensions && reader_fits(description->mFileExtensions, kind)) continue;
    const std::unique_ptr<Assimp::BaseImporter> reader(importer.GetImporter(i));  // belongs to who takes it away
    importer.UnregisterLoader(reader.get());
  }
}

/// Whether a model is its reader's own root and nothing else.
bool brings_nothing(const ImportedModel& model) {
  const ImportedEntity& root = model.entities.front();
  const scene::Vec3 scale = root.transform.scale;
  return model.entities.size() == 1 && !root.mesh && !root.light && !root.camera && is_identity(root.transform) &&
         scale.x == 1 && scale.y == 1 && scale.z == 1;
}

}  // namespace

std::string ModelError::text() const { return "cannot import " + file.string() + ": " + what; }

std::expected<ImportedModel, ModelError> read_model(const std::filesystem::path& file) {
  const auto failed = [&](std::string what) { return std::unexpected(ModelError{file, std::move(what)}); };
  if (std::string reason = unfit(file); !reason.empty()) return failed(std::move(reason));
  try {
    Assimp::Importer importer;
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, false);
    keep_fitting_readers(importer, kind_of(file));
    const aiScene* scene = importer.ReadFile(file.string(), 0);
    if (!scene) return failed(valid_utf8(importer.GetErrorString()));
    if (!scene->mRootNode) return failed("it holds no node");
    ImportedModel model = Reader(*scene).read();
    if (brings_nothing(model)) return failed("it holds nothing: no node but its root, no mesh, light or camera");
    return model;
  } catch (const std::exception& exception) {
    return failed(std::string("its reader failed: ") + exception.what());
  }
}

}  // namespace muster
