// Reads every format except glTF 2.0, using Assimp.
#include <assimp/BaseImporter.h>
#include <assimp/commonMetaData.h>
#include <assimp/config.h>
#include <assimp/importerdesc.h>
#include <assimp/scene.h>

#include <algorithm>
#include <array>
#include <assimp/Importer.hpp>
#include <cmath>
#include <iterator>
#include <memory>
#include <new>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "client/import/assimp_files.h"
#include "client/import/collada_text.h"
#include "client/import/file_kind.h"
#include "client/import/gltf_placement.h"
#include "client/import/reader.h"
#include "messages/utf8.h"

namespace muster {
namespace {

constexpr double degrees = 57.295779513082320877;

/// Returns the name of the file's format. Assimp derives the name from the reader that created the
/// scene.
std::string format_of(const aiScene& scene) {
  aiString format;
  if (!scene.mMetaData || !scene.mMetaData->Get(AI_METADATA_SOURCE_FORMAT, format)) return {};
  return format.C_Str();
}

Matrix matrix_of(const aiMatrix4x4& m) {
  return {{{m.a1, m.a2, m.a3, m.a4}, {m.b1, m.b2, m.b3, m.b4}, {m.c1, m.c2, m.c3, m.c4}, {m.d1, m.d2, m.d3, m.d4}}};
}

/// Returns the position and orientation of a light or camera in its node's space. `backward` need
/// not be a unit vector; zero means that the file does not specify a direction.
Matrix frame_of(const aiVector3D& position, const aiVector3D& backward, const aiVector3D& up) {
  const aiVector3D z = backward.SquareLength() > 0 ? aiVector3D(backward).Normalize() : aiVector3D(0, 0, 1);
  aiVector3D x = up ^ z;
  if (!(x.SquareLength() > 1e-6f)) x = (std::abs(z.y) < 0.9f ? aiVector3D(0, 1, 0) : aiVector3D(0, 0, -1)) ^ z;
  x.Normalize();
  const aiVector3D y = z ^ x;
  return {{{x.x, y.x, z.x, position.x}, {x.y, y.y, z.y, position.y}, {x.z, y.z, z.z, position.z}, {0, 0, 0, 1}}};
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
  // Assimp multiplies the color by the intensity, so values above 1 are attributed to the
  // intensity.
  light.intensity = std::max({1.f, r, g, b});
  light.color = {.r = r / light.intensity, .g = g / light.intensity, .b = b / light.intensity, .a = 1};
  if (light.kind == scene::LightKind::spot) {
    // In glTF, the angles are half angles; in other formats, they are full angles.
    const double whole = gltf ? 2 * degrees : degrees;
    light.inner_angle = numbers.within("inner angle", from.mAngleInnerCone * whole, 360);
    light.outer_angle = numbers.within("outer angle", from.mAngleOuterCone * whole, 360, 90);
  }
  return light;
}

scene::Camera camera_of(const aiCamera& from, bool gltf, double metres, Numbers& numbers) {
  scene::Camera camera;
  camera.near = numbers.within("near", from.mClipPlaneNear * metres, 1e9, 0.1);
  camera.far = numbers.within("far", from.mClipPlaneFar * metres, 1e9, 1000);
  // A negative aspect marks an orthographic camera from Collada, whose height is stored as the
  // angle.
  const bool is_flat = from.mAspect < 0;
  const auto said_aspect = std::abs(static_cast<double>(from.mAspect));
  if (!is_flat || said_aspect > -2 * flat_aspect) camera.aspect = numbers.within("aspect", said_aspect, 1000);
  if (is_flat) {
    camera.height = numbers.within("height", from.mHorizontalFOV * degrees * metres, 1e9);
    return camera;
  }
  const double aspect = camera.aspect > 0 ? camera.aspect : 1;
  const double angle = from.mHorizontalFOV;
  // For glTF, Assimp reports the vertical angle multiplied by the aspect. For other formats, it
  // reports the horizontal angle.
  const double vertical = gltf ? angle / aspect : 2 * std::atan(std::tan(angle / 2) / aspect);
  if (angle > 0) camera.fov = numbers.within("field of view", vertical * degrees, 180, camera.fov);
  if (from.mOrthographicWidth > 0)
    camera.height = numbers.within("height", 2 * from.mOrthographicWidth * metres / aspect, 1e9);
  return camera;
}

/// Describes how to convert the file's numbers to meters with +Y up.
struct Measures {
  double metres = 1;  ///< length of one unit of the file in meters
  Matrix turn = compose(scene::Transform{});
  bool known = false;  ///< true if the format specifies its unit and axes, and Assimp reports them
};

template <class T>
T told(const aiMetadata& data, const char* key, T otherwise) {
  T value;
  return data.Get(key, value) ? value : otherwise;
}

/// Reads the axes (right, up, and front) and the unit in centimeters from the metadata of an FBX
/// file.
Measures fbx_measures(const aiMetadata& data, std::vector<std::string>& warnings) {
  Measures measures;
  measures.known = true;
  const double unit = static_cast<double>(told(data, "UnitScaleFactor", 1.f));
  if (unit > 0 && unit <= 1e9)
    measures.metres = unit / 100;
  else
    warnings.push_back("the file's UnitScaleFactor is not a valid unit size; its lengths are read as centimeters."),
        measures.metres = 0.01;
  const std::array<std::array<const char*, 2>, 3> names{
      {{"CoordAxis", "CoordAxisSign"}, {"UpAxis", "UpAxisSign"}, {"FrontAxis", "FrontAxisSign"}}};
  Matrix turn{};
  turn[3][3] = 1;
  std::array<bool, 3> met{};
  for (std::size_t row = 0; row < 3; ++row) {
    const auto axis = told<std::int32_t>(data, names[row][0], static_cast<std::int32_t>(row));
    if (axis < 0 || axis > 2 || met[static_cast<std::size_t>(axis)]) {
      warnings.push_back("the file's axes are contradictory; +Y is used as up and +Z as front.");
      return measures;
    }
    met[static_cast<std::size_t>(axis)] = true;
    turn[row][static_cast<std::size_t>(axis)] = told<std::int32_t>(data, names[row][1], 1) < 0 ? -1 : 1;
  }
  measures.turn = turn;
  return measures;
}

Measures measures_of(const aiScene& scene, std::vector<std::string>& warnings) {
  Measures measures;
  const std::string format = format_of(scene);
  if (format.find("FBX") != format.npos && scene.mMetaData) return fbx_measures(*scene.mMetaData, warnings);
  if (format.find("Collada") != format.npos) {
    // Assimp has already scaled and rotated the root. Numbers that the root's transform does not
    // affect must still be converted to meters.
    const aiMatrix4x4& root = scene.mRootNode->mTransformation;
    const double unit = std::sqrt(static_cast<double>(root.a1 * root.a1 + root.b1 * root.b1 + root.c1 * root.c1));
    if (unit > 0 && std::isfinite(unit)) measures.metres = unit;
    measures.known = true;
  }
  return measures;
}

ImportedMesh mesh_of(const aiScene& scene, unsigned index, std::string name, std::vector<std::string>& warnings) {
  const aiMesh& from = *scene.mMeshes[index];
  ImportedMesh mesh{.name = std::move(name), .index = index, .bounds = {}, .color = {}};
  Numbers numbers("mesh \"" + mesh.name + "\" (" + std::to_string(index) + ")", warnings);
  Box box{{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
  unsigned left_out = 0;
  for (unsigned i = 0; i < from.mNumVertices && from.mVertices; ++i) {
    const aiVector3D& v = from.mVertices[i];
    if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z)) {
      ++left_out;
      continue;
    }
    const std::array<double, 3> point{v.x, v.y, v.z};
    for (std::size_t c = 0; c < 3; ++c) {
      box.low[c] = std::min(box.low[c], point[c]);
      box.high[c] = std::max(box.high[c], point[c]);
    }
  }
  if (left_out > 0)
    numbers.tell("has " + std::to_string(left_out) + " vertices that are not finite; its bounds leave them out.");
  if (box.low[0] <= box.high[0]) mesh.bounds = shape_of(box, numbers);
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

/// Node names, mesh names, and node transforms that differ from those in Assimp's scene.
struct Names {
  std::unordered_map<const aiNode*, std::string> nodes;
  std::unordered_set<const aiNode*> by_id;  // nodes whose name is their id
  std::vector<std::string> meshes;
  std::unordered_map<const aiNode*, GltfPlacement> places;
};

/// Converts one scene to a model. The conversion is a class because each of its steps needs both
/// the scene and the model.
class Reader {
 public:
  Reader(const aiScene& scene, const Names& names, const AssimpFiles& files, const ModelLimits& limits)
      : scene_(scene),
        names_(names),
        files_(files),
        limits_(limits),
        gltf_(format_of(scene).find("glTF") != std::string::npos),
        measures_(measures_of(scene, model_.warnings)) {
    for (unsigned i = 0; i < scene.mNumLights; ++i)
      lights_[scene.mLights[i]->mName.C_Str()].push_back(scene.mLights[i]);
    for (unsigned i = 0; i < scene.mNumCameras; ++i)
      cameras_[scene.mCameras[i]->mName.C_Str()].push_back(scene.mCameras[i]);
  }

  ImportedModel read() {
    struct Pending {
      const aiNode* node;
      std::uint32_t parent;
    };
    std::vector<Pending> stack{{scene_.mRootNode, ImportedEntity::no_parent}};
    std::ranges::copy(files_.warnings(), std::back_inserter(model_.warnings));
    count_names();
    while (!stack.empty()) {
      const Pending next = stack.back();
      stack.pop_back();
      const std::uint32_t place = add_node(*next.node, next.parent);
      for (unsigned i = next.node->mNumChildren; i-- > 0;) stack.push_back({next.node->mChildren[i], place});
    }
    warn_of_lost("light", lights_);
    warn_of_lost("camera", cameras_);
    if (!measures_.known && !gltf_)
      model_.warnings.push_back(
          "the unit and axes of this format are not supported: its lengths are read as meters and +Y as up.");
    return std::move(model_);
  }

 private:
  /// Assimp identifies the node of a light or camera only by name, and several nodes may have the
  /// same name.
  template <class T>
  using ByName = std::unordered_map<std::string_view, std::vector<const T*>>;

  void count_names() {
    std::vector<const aiNode*> stack{scene_.mRootNode};
    while (!stack.empty()) {
      const aiNode* const node = stack.back();
      stack.pop_back();
      ++nodes_of_name_[node->mName.C_Str()];
      stack.insert(stack.end(), node->mChildren, node->mChildren + node->mNumChildren);
    }
  }

  template <class T>
  void warn_of_lost(const char* what, const ByName<T>& left) {
    for (const auto& [name, all] : left)
      if (!all.empty())
        model_.warnings.push_back(std::string(what) + " \"" + valid_utf8(name) +
                                  "\" was left out: no node has its name.");
  }

  /// Removes and returns the lights or cameras that belong to this node. If the node's name is
  /// unique, all lights or cameras with that name belong to the node. Otherwise, only the next
  /// light or camera with that name does.
  template <class T>
  std::vector<const T*> take(const char* what, ByName<T>& from, const aiNode& node) {
    const auto found = from.find(node.mName.C_Str());
    if (found == from.end() || found->second.empty()) return {};
    auto& all = found->second;
    const std::size_t nodes = nodes_of_name_.at(found->first);
    if (nodes == 1) return std::exchange(all, {});
    const T* const first = all.front();
    all.erase(all.begin());
    if (told_.insert(what + std::string(found->first)).second && all.size() + 1 != nodes)
      model_.warnings.push_back(std::to_string(nodes) + " nodes are called \"" + valid_utf8(found->first) +
                                "\", and the reader does not say which has a " + what + "; the first got it.");
    return {first};
  }

  std::uint32_t add_node(const aiNode& node, std::uint32_t parent) {
    const auto renamed = names_.nodes.find(&node);
    const std::string name =
        renamed == names_.nodes.end() ? files_.name({node.mName.data, node.mName.length}) : renamed->second;
    const std::uint32_t place = add_entity(model_, limits_, parent, name, false);
    model_.entities[place].is_named = !names_.by_id.contains(&node);
    const Matrix local = matrix_of(node.mTransformation);
    if (const auto said = names_.places.find(&node); said != names_.places.end())
      place_node(model_, place, said->second);
    else
      place_by_matrix(model_, place, parent == ImportedEntity::no_parent ? in_metres(local) : local);
    add_meshes(node, place);
    for (const aiLight* const light : take("light", lights_, node)) add_light(*light, node, place);
    for (const aiCamera* const camera : take("camera", cameras_, node)) add_camera(*camera, node, place);
    return place;
  }

  /// Applies the file's rotation and scale to the matrix of the root. For a Collada file, the
  /// matrix already includes both.
  Matrix in_metres(const Matrix& root) const {
    if (!is_fbx()) return root;
    Matrix result{};
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t k = 0; k < 3; ++k) result[row][i] += measures_.turn[row][k] * root[k][i] * measures_.metres;
    result[3][3] = 1;
    return result;
  }
  bool is_3ds() const { return format_of(scene_).find("3DS") != std::string::npos; }
  bool is_fbx() const { return format_of(scene_).find("FBX") != std::string::npos; }

  std::string mesh_name(unsigned index) const {
    if (index < names_.meshes.size()) return valid_utf8(names_.meshes[index]);
    const aiString& name = scene_.mMeshes[index]->mName;
    return valid_utf8(files_.name({name.data, name.length}));
  }

  void add_meshes(const aiNode& node, std::uint32_t place) {
    for (unsigned i = 0; i < node.mNumMeshes; ++i) {
      const unsigned index = node.mMeshes[i];
      if (index >= scene_.mNumMeshes) {
        model_.warnings.push_back(node_text(model_, place) + " names mesh " + std::to_string(index) + " of " +
                                  std::to_string(scene_.mNumMeshes) + "; it was left out.");
        continue;
      }
      ImportedMesh mesh = mesh_of(scene_, index, mesh_name(index), model_.warnings);
      std::uint32_t on = place;
      if (node.mNumMeshes > 1)
        on = add_entity(model_, limits_, place, mesh.name.empty() ? "mesh" : std::string_view(mesh.name), true);
      model_.entities[on].mesh = std::move(mesh);
    }
  }

  void add_light(const aiLight& from, const aiNode& node, std::uint32_t place) {
    Numbers numbers("light \"" + model_.entities[place].name + "\"", model_.warnings);
    scene::Light light = light_of(from, gltf_, numbers);
    if (float range = 0; node.mMetaData && node.mMetaData->Get("PBR_LightRange", range))
      light.range = numbers.within("range", range * measures_.metres, 1e9);
    if (light.kind == scene::LightKind::spot && format_of(scene_).find("Blender") != std::string::npos)
      numbers.tell("is a spot light, and the angles of its cone are not read from .blend files; set them yourself.");
    const bool directed = light.kind != scene::LightKind::point && light.kind != scene::LightKind::ambient;
    const aiVector3D backward = directed ? from.mDirection * -1.f : aiVector3D(0, 0, 1);
    const aiVector3D position = light.kind == scene::LightKind::directional ? aiVector3D() : from.mPosition;
    const bool taken = model_.entities[place].light.has_value();
    model_.entities[entity_for(place, "light", taken, frame_of(position, backward, from.mUp))].light = light;
  }

  void add_camera(const aiCamera& from, const aiNode& node, std::uint32_t place) {
    aiVector3D position = from.mPosition;
    Numbers numbers("camera \"" + model_.entities[place].name + "\"", model_.warnings);
    // Assimp's 3DS reader reports the camera's position relative to the parent of the camera's
    // node.
    if (is_3ds()) {
      const aiMatrix4x4& local = node.mTransformation;
      position -= aiVector3D(local.a4, local.b4, local.c4);
      numbers.tell("is from a .3ds file, whose camera directions are not supported; rotate it yourself.");
    }
    const scene::Camera camera = camera_of(from, gltf_, measures_.metres, numbers);
    const bool taken = model_.entities[place].camera.has_value();
    // glTF cameras look along their node's -Z, but Assimp's glTF 1.0 reader does not report this.
    const Matrix frame = gltf_ ? Matrix(compose({})) : frame_of(position, from.mLookAt * -1.f, from.mUp);
    model_.entities[entity_for(place, "camera", taken, frame)].camera = camera;
  }

  /// Returns the entity that receives a light or camera. The result is the node's own entity,
  /// unless the entity is already taken or the light or camera has its own coordinate frame. In
  /// these cases, the result is a new part of the node's entity.
  std::uint32_t entity_for(std::uint32_t place, const char* part, bool taken, const Matrix& matrix) {
    const Decomposed frame = decompose(matrix);
    if (!taken && (!frame.finite || is_identity(frame.transform))) return place;
    const std::uint32_t added = add_entity(model_, limits_, place, part, true);
    model_.entities[added].transform = frame.transform;
    return added;
  }

  const aiScene& scene_;
  const Names& names_;
  const AssimpFiles& files_;
  const ModelLimits& limits_;
  const bool gltf_;  // glTF 1.0
  ImportedModel model_;
  const Measures measures_;
  ByName<aiLight> lights_;  // lights and cameras that have not yet been assigned to a node
  ByName<aiCamera> cameras_;
  std::unordered_map<std::string_view, std::size_t> nodes_of_name_;
  std::unordered_set<std::string> told_;
};

/// Removes all of Assimp's readers that match neither the file's suffix nor its first bytes.
void keep_fitting_readers(Assimp::Importer& importer, const FileKind& kind) {
  for (std::size_t i = importer.GetImporterCount(); i-- > 0;) {
    const aiImporterDesc* description = importer.GetImporterInfo(i);
    if (description && description->mFileExtensions && reader_fits(description->mFileExtensions, kind)) continue;
    // the caller owns the reader after UnregisterLoader() returns
    const std::unique_ptr<Assimp::BaseImporter> reader(importer.GetImporter(i));
    importer.UnregisterLoader(reader.get());
  }
}

/// Returns true if the model contains nothing except an empty root.
bool brings_nothing(const ImportedModel& model) {
  const ImportedEntity& root = model.entities.front();
  return model.entities.size() == 1 && !root.mesh && !root.light && !root.camera;
}

struct ReadScene {
  const aiScene& scene;
  const AssimpFiles& files;
};

/// Reads a file. The scene is never freed, because the process ends soon and destroying a deeply
/// nested tree could crash it.
ReadScene scene_of(const std::filesystem::path& file, bool collada_names) {
  Assimp::Importer& importer = *std::make_unique<Assimp::Importer>().release();
  auto* const files = std::make_unique<AssimpFiles>().release();
  importer.SetIOHandler(files);
  importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_USE_COLLADA_NAMES, collada_names);
  importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, false);
  // prevents Assimp from adding a mesh that is not in the file
  importer.SetPropertyBool(AI_CONFIG_IMPORT_NO_SKELETON_MESHES, true);
  keep_fitting_readers(importer, kind_of(file));
  const aiScene* const scene = importer.ReadFile(file.string(), 0);
  if (!scene) {
    if (const std::string what = importer.GetErrorString(); what.find("bad_alloc") != what.npos) throw std::bad_alloc();
    throw ReadFailure(valid_utf8(importer.GetErrorString()));
  }
  if (!scene->mRootNode) throw ReadFailure("it holds no node");
  return {*scene, *files};
}

/// A Collada node has both a name, which need not be unique, and an id, which is needed to find the
/// nodes of lights. Assimp reports only one of the two at a time. The file is therefore read a
/// second time, with names, into a tree of the same shape.
Names collada_names(const aiScene& by_id, const std::filesystem::path& file) {
  Names names;
  const aiScene& by_name = scene_of(file, true).scene;
  constexpr std::string_view made_up = "$ColladaAutoName$";
  std::vector<std::pair<const aiNode*, const aiNode*>> stack{{by_id.mRootNode, by_name.mRootNode}};
  while (!stack.empty()) {
    const auto [id, name] = stack.back();
    stack.pop_back();
    const std::string_view said(name->mName.C_Str()), otherwise(id->mName.C_Str());
    if (!said.starts_with(made_up))
      names.nodes[id] = said;
    else
      names.nodes[id] = otherwise.starts_with(made_up) ? "" : otherwise, names.by_id.insert(id);
    for (unsigned i = 0; i < std::min(id->mNumChildren, name->mNumChildren); ++i)
      stack.emplace_back(id->mChildren[i], name->mChildren[i]);
  }
  for (unsigned i = 0; i < by_name.mNumMeshes; ++i) names.meshes.emplace_back(by_name.mMeshes[i]->mName.C_Str());
  return names;
}

/// Returns the correct names and placements of glTF 1.0 nodes. Assimp reports ids instead of names,
/// and applies the scale after the rotation.
Names gltf_1_names(const aiScene& scene, const std::filesystem::path& file) {
  Names names;
  const auto nodes = nodes_of_gltf_1(file);
  bool is_made_up = false;  // true if a second node has the root's id, so that Assimp must have
                            // added the root
  std::vector<const aiNode*> stack{scene.mRootNode};
  while (!stack.empty()) {
    const aiNode* const node = stack.back();
    stack.pop_back();
    stack.insert(stack.end(), node->mChildren, node->mChildren + node->mNumChildren);
    const auto said = nodes.find(node->mName.C_Str());
    if (said == nodes.end()) continue;
    if (said->second.name.empty())
      names.by_id.insert(node);
    else
      names.nodes[node] = said->second.name;
    names.places[node] = said->second.placement;
    is_made_up = is_made_up || (node != scene.mRootNode && node->mName == scene.mRootNode->mName);
  }
  if (!is_made_up) return names;
  names.nodes.erase(scene.mRootNode);
  names.by_id.erase(scene.mRootNode);
  names.places.erase(scene.mRootNode);
  return names;
}

}  // namespace

ImportedModel read_with_assimp(const std::filesystem::path& file, const ModelLimits& limits) {
  const auto [scene, files] = scene_of(file, false);
  Names names;
  if (format_of(scene).find("Collada") != std::string::npos) names = collada_names(scene, file);
  if (format_of(scene).find("glTF") != std::string::npos) names = gltf_1_names(scene, file);
  ImportedModel model = Reader(scene, names, files, limits).read();
  if (brings_nothing(model)) throw ReadFailure("it holds nothing: no node but its root, no mesh, light or camera");
  return model;
}

}  // namespace muster
