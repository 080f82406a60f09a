// Reads glTF 2.0: nodes, lights, cameras, the bounding boxes and colors of meshes, and instances.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <ranges>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "client/import/gltf_file.h"
#include "client/import/gltf_placement.h"
#include "client/import/reader.h"
#include "messages/utf8.h"

namespace muster {
namespace {

constexpr double degrees = 57.295779513082320877;
/// The far distance of a camera that has no zfar. The distance is the largest value that the field
/// allows.
constexpr double endless = 1e9;

/// Returns true if the extension affects the import and is supported here, or if it only affects
/// how surfaces look.
bool is_understood(std::string_view extension) {
  constexpr std::array known{"KHR_lights_punctual",     "KHR_mesh_quantization",   "KHR_draco_mesh_compression",
                             "EXT_meshopt_compression", "KHR_meshopt_compression", "EXT_mesh_gpu_instancing",
                             "KHR_texture_transform",   "KHR_texture_basisu",      "EXT_texture_webp",
                             "EXT_texture_avif",        "MSFT_texture_dds"};
  return extension.starts_with("KHR_materials_") || std::ranges::find(known, extension) != known.end();
}

const Json* extension(const Json& of, const char* name) {
  const Json* const extensions = member(of, "extensions");
  return extensions ? member(*extensions, name) : nullptr;
}

std::string plural(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

class GltfReader {
 public:
  GltfReader(const GltfFile& file, const ModelLimits& limits) : file_(file), limits_(limits) {}

  ImportedModel read() {
    warn_of_extensions();
    choose_roots();
    number_meshes();
    std::uint32_t top = ImportedEntity::no_parent;
    if (roots_.size() != 1 || !scene_) top = add(top, scene_name(), false);
    struct Pending {
      std::size_t node;
      std::uint32_t parent;
    };
    std::vector<Pending> stack;
    for (const std::size_t root : roots_) stack.push_back({root, top});
    std::ranges::reverse(stack);
    while (!stack.empty()) {
      const Pending next = stack.back();
      stack.pop_back();
      const std::uint32_t place = add_node(next.node, next.parent);
      const std::size_t begin = stack.size();
      for (const std::size_t child : children_of(next.node)) stack.push_back({child, place});
      std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
    }
    warn_of_left_out();
    return std::move(model_);
  }

 private:
  std::uint32_t add(std::uint32_t parent, std::string_view name, bool is_part) {
    return add_entity(model_, limits_, parent, name, is_part);
  }

  std::vector<std::size_t> indices(const Json& of, const char* name, const std::string& place) const {
    std::vector<std::size_t> result;
    const Json* const list = member(of, name);
    if (!list) return result;
    if (!list->is_array()) throw ReadFailure(place + "." + name + " is not a list");
    for (const Json& each : *list) {
      result.push_back(whole(each, place + "." + name));
      (void)file_.at("nodes", result.back(), place + "." + name);
    }
    return result;
  }
  std::vector<std::size_t> children_of(std::size_t node) const {
    return indices(file_.list("nodes")[node], "children", place_text("nodes", node));
  }

  void warn_of_extensions() {
    const Json* const required = member(file_.json(), "extensionsRequired");
    if (!required || !required->is_array()) return;
    std::unordered_set<std::string> told;
    for (const Json& name : *required)
      if (name.is_string() && !is_understood(name.get_ref<const std::string&>()) && told.insert(name).second)
        model_.warnings.push_back("the file requires the extension " + valid_utf8(name.get_ref<const std::string&>()) +
                                  ", which is not supported; its data is left out.");
  }

  /// Chooses the roots of the file's default scene. If the file has no scenes (a library of nodes),
  /// chooses all nodes without a parent.
  void choose_roots() {
    const Json& nodes = file_.list("nodes");
    if (nodes.empty()) throw ReadFailure("it holds nothing: it has no nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) (void)file_.at("nodes", i, "nodes");
    visited_.resize(nodes.size());
    if (const Json& scenes = file_.list("scenes"); !scenes.empty()) {
      scene_ = file_.index_of(file_.json(), "scene", "scenes", "the file").value_or(0);
      roots_ = indices(file_.at("scenes", *scene_, "scene"), "nodes", place_text("scenes", *scene_));
      if (roots_.empty()) throw ReadFailure("it holds nothing: " + place_text("scenes", *scene_) + " has no nodes");
      return;
    }
    std::vector<bool> has_parent(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::size_t child : children_of(i)) has_parent[child] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!has_parent[i]) roots_.push_back(i);
    if (roots_.empty()) throw ReadFailure("each of its nodes is a child of another: the tree is recursive");
  }

  /// Assigns each mesh the index of its first primitive. Meshes used by the scene come first, and a
  /// node's children come before the node. Viewers count meshes in this order (assimp_order in the
  /// editor's page).
  void number_meshes() {
    const Json& meshes = file_.list("meshes");
    first_part_.assign(meshes.size(), unnumbered);
    std::vector<bool> met(file_.list("nodes").size());
    struct Step {
      std::size_t node;
      bool below_done;
    };
    std::vector<Step> stack;
    if (scene_)
      for (const std::size_t root : roots_) stack.push_back({root, false});
    std::ranges::reverse(stack);
    while (!stack.empty()) {
      const Step step = stack.back();
      stack.pop_back();
      if (step.below_done) {
        const auto mesh =
            file_.index_of(file_.list("nodes")[step.node], "mesh", "meshes", place_text("nodes", step.node));
        if (mesh) number_mesh(*mesh);
        continue;
      }
      if (met[step.node]) continue;
      met[step.node] = true;
      stack.push_back({step.node, true});
      const auto children = children_of(step.node);
      for (const std::size_t child : std::views::reverse(children)) stack.push_back({child, false});
    }
    for (std::size_t i = 0; i < meshes.size(); ++i) number_mesh(i);
    parts_.resize(next_part_);
  }
  void number_mesh(std::size_t mesh) {
    if (first_part_[mesh] != unnumbered) return;
    first_part_[mesh] = next_part_;
    next_part_ += static_cast<std::uint32_t>(primitives_of(mesh).size());
  }
  const Json& primitives_of(std::size_t mesh) const {
    const std::string place = place_text("meshes", mesh);
    const Json* const primitives = member(file_.at("meshes", mesh, place), "primitives");
    if (!primitives || !primitives->is_array()) throw ReadFailure(place + " has no list of primitives");
    return *primitives;
  }

  std::uint32_t add_node(std::size_t index, std::uint32_t parent) {
    const std::string from = place_text("nodes", index);
    const Json& node = file_.list("nodes")[index];
    if (visited_[index])
      throw ReadFailure(from + " (\"" + text_of(node, "name") +
                        "\") occurs twice: it has two parents, or the tree is recursive");
    visited_[index] = true;
    const std::uint32_t place = add(parent, text_of(node, "name"), false);
    place_node(model_, place, placement_of(node, from));
    if (const auto mesh = file_.index_of(node, "mesh", "meshes", from)) {
      const Json* const instancing = extension(node, "EXT_mesh_gpu_instancing");
      if (!instancing || !add_instances(*instancing, from, *mesh, place)) add_mesh(*mesh, place);
    }
    if (const Json* const light = extension(node, "KHR_lights_punctual")) add_light(*light, from, place);
    if (const auto camera = file_.index_of(node, "camera", "cameras", from)) add_camera(*camera, place);
    return place;
  }

  void add_mesh(std::size_t mesh, std::uint32_t place) {
    const std::size_t count = primitives_of(mesh).size();
    for (std::size_t i = 0; i < count; ++i) {
      const ImportedMesh& part = part_of(mesh, i);
      const std::uint32_t on = count == 1 ? place : add(place, part.name, true);
      model_.entities[on].mesh = part;
    }
  }

  const ImportedMesh& part_of(std::size_t mesh, std::size_t primitive) {
    const std::uint32_t index = first_part_[mesh] + static_cast<std::uint32_t>(primitive);
    auto& part = parts_[index];
    if (part) return *part;
    const Json& primitives = primitives_of(mesh);
    std::string name = valid_utf8(text_of(file_.list("meshes")[mesh], "name"));
    if (name.empty()) name = place_text("meshes", mesh);
    if (primitives.size() > 1) name += '-' + std::to_string(primitive);
    part = ImportedMesh{.name = std::move(name), .index = index, .bounds = {}, .color = {}};
    Numbers numbers("mesh \"" + part->name + "\" (" + std::to_string(index) + ")", model_.warnings);
    const std::string place = place_text("meshes", mesh, "primitives") + '[' + std::to_string(primitive) + ']';
    if (const Json* const attributes = member(primitives[primitive], "attributes"))
      if (const auto position = file_.index_of(*attributes, "POSITION", "accessors", place + ".attributes"))
        part->bounds = bounds_of(primitives[primitive], *position, numbers);
    part->color = color_of(primitives[primitive], place, numbers);
    return *part;
  }

  std::optional<scene::Shape> bounds_of(const Json& primitive, std::size_t accessor, Numbers& numbers) const {
    if (const auto said = file_.said_box(accessor)) return shape_of(*said, numbers);
    if (extension(primitive, "KHR_draco_mesh_compression") || !file_.is_readable(accessor)) {
      numbers.tell("is compressed, and " + place_text("accessors", accessor) +
                   " has no min and max; it has no bounds.");
      return {};
    }
    const std::vector<double> values = file_.values(accessor, "VEC3", 3);
    Box box{{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    std::size_t left_out = 0;
    for (std::size_t v = 0; v + 2 < values.size(); v += 3) {
      if (!std::isfinite(values[v]) || !std::isfinite(values[v + 1]) || !std::isfinite(values[v + 2])) {
        ++left_out;
        continue;
      }
      for (std::size_t i = 0; i < 3; ++i) {
        box.low[i] = std::min(box.low[i], values[v + i]);
        box.high[i] = std::max(box.high[i], values[v + i]);
      }
    }
    if (left_out > 0)
      numbers.tell("has " + std::to_string(left_out) + " vertices that are not finite; its bounds leave them out.");
    if (box.low[0] > box.high[0]) return {};
    return shape_of(box, numbers);
  }

  std::optional<scene::Color> color_of(const Json& primitive, const std::string& place, Numbers& numbers) const {
    std::array<double, 4> factor{1, 1, 1, 1};
    if (const auto index = file_.index_of(primitive, "material", "materials", place)) {
      const Json& material = file_.list("materials")[*index];
      const std::string at = place_text("materials", *index);
      if (const Json* const rough = member(material, "pbrMetallicRoughness"))
        factor = numbers_of<4>(*rough, "baseColorFactor", at + ".pbrMetallicRoughness").value_or(factor);
      if (const Json* const glossy = extension(material, "KHR_materials_pbrSpecularGlossiness"))
        factor = numbers_of<4>(*glossy, "diffuseFactor", at + ".diffuseFactor").value_or(factor);
    }
    return scene::Color{.value = {.r = numbers.within("red", factor[0], 1e6, 1),
                                  .g = numbers.within("green", factor[1], 1e6, 1),
                                  .b = numbers.within("blue", factor[2], 1e6, 1),
                                  .a = numbers.within("alpha", factor[3], 1, 1)}};
  }

  /// Adds the node's mesh once per instance. If the instances cannot be read, adds a warning and
  /// returns false.
  bool add_instances(const Json& instancing, const std::string& from, std::size_t mesh, std::uint32_t place) {
    const Json* const attributes = member(instancing, "attributes");
    if (!attributes) return false;
    const std::string at = from + ".extensions.EXT_mesh_gpu_instancing.attributes";
    const auto moved = file_.index_of(*attributes, "TRANSLATION", "accessors", at);
    const auto turned = file_.index_of(*attributes, "ROTATION", "accessors", at);
    const auto scaled = file_.index_of(*attributes, "SCALE", "accessors", at);
    std::optional<std::size_t> count;
    for (const auto& accessor : {moved, turned, scaled}) {
      if (!accessor) continue;
      if (count && *count != file_.count(*accessor)) throw ReadFailure(at + " have different counts");
      count = file_.count(*accessor);
    }
    if (!count) return false;
    if (*count > limits_.entities_max)
      throw ReadFailure(from + " has " + std::to_string(*count) + " instances; one import takes " +
                        std::to_string(limits_.entities_max) + " nodes and parts at most");
    for (const auto& accessor : {moved, turned, scaled})
      if (accessor && !file_.is_readable(*accessor)) {
        model_.warnings.push_back(node_text(model_, place) + " has " + plural(*count, "instance", "instances") +
                                  " of its mesh in compressed form; all but one are left out.");
        return false;
      }
    const auto values = [&](const std::optional<std::size_t>& accessor, const char* type, std::size_t components) {
      return accessor ? file_.values(*accessor, type, components) : std::vector<double>();
    };
    const auto t = values(moved, "VEC3", 3), r = values(turned, "VEC4", 4), s = values(scaled, "VEC3", 3);
    for (std::size_t i = 0; i < *count; ++i) {
      Trs trs;
      if (moved) std::copy_n(t.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, trs.translation.begin());
      if (turned) std::copy_n(r.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, trs.rotation.begin());
      if (scaled) std::copy_n(s.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, trs.scale.begin());
      const std::uint32_t instance = add(place, "instance", true);
      std::vector<std::string> lost;
      model_.entities[instance].transform = transform_of(trs, lost);
      for (const std::string& part : lost)
        model_.warnings.push_back("instance " + std::to_string(i) + " of " + node_text(model_, place) + " has a " +
                                  part + " that does not fit in a float; it is left out.");
      add_mesh(mesh, instance);
    }
    return true;
  }

  void add_light(const Json& of, const std::string& from, std::uint32_t place) {
    static const Json none = Json::array();
    const Json* const root = extension(file_.json(), "KHR_lights_punctual");
    const Json* const list = root ? member(*root, "lights") : nullptr;
    const Json& lights = list ? *list : none;
    const Json* const index = member(of, "light");
    if (!index) return;
    const std::string at = from + ".extensions.KHR_lights_punctual.light";
    const std::size_t which = whole(*index, at);
    if (!lights.is_array() || which >= lights.size())
      throw ReadFailure(at + " is " + std::to_string(which) + ", and there are " + std::to_string(lights.size()) +
                        " lights");
    const Json& light = lights[which];
    const std::string kind = text_of(light, "type"), light_at = place_text("lights", which);
    Numbers numbers("light \"" + model_.entities[place].name + "\"", model_.warnings);
    scene::Light made;
    if (kind == "point")
      made.kind = scene::LightKind::point;
    else if (kind == "spot")
      made.kind = scene::LightKind::spot;
    else if (kind == "directional")
      made.kind = scene::LightKind::directional;
    else
      return numbers.tell("is of the kind \"" + valid_utf8(kind) + "\", which is not known; it was left out.");
    const auto color = numbers_of<3>(light, "color", light_at).value_or(std::array<double, 3>{1, 1, 1});
    made.color = {.r = numbers.within("red", color[0], 1e6, 1),
                  .g = numbers.within("green", color[1], 1e6, 1),
                  .b = numbers.within("blue", color[2], 1e6, 1),
                  .a = 1};
    made.intensity = numbers.within("intensity", number_of(light, "intensity", light_at).value_or(1), 1e9, 1);
    made.range = numbers.within("range", number_of(light, "range", light_at).value_or(0), 1e9);
    if (made.kind == scene::LightKind::spot) {
      const Json* const cone = member(light, "spot");
      const auto half = [&](const char* name, double otherwise) {
        return (cone ? number_of(*cone, name, light_at + ".spot") : std::nullopt).value_or(otherwise) * 2 * degrees;
      };
      made.inner_angle = numbers.within("inner angle", half("innerConeAngle", 0), 360);
      made.outer_angle = numbers.within("outer angle", half("outerConeAngle", std::numbers::pi / 4), 360, 90);
    }
    model_.entities[place].light = made;
  }

  void add_camera(std::size_t index, std::uint32_t place) {
    const Json& camera = file_.list("cameras")[index];
    const std::string kind = text_of(camera, "type");
    Numbers numbers("camera \"" + model_.entities[place].name + "\"", model_.warnings);
    const bool orthographic = kind == "orthographic";
    if (!orthographic && kind != "perspective")
      return numbers.tell("is of the kind \"" + valid_utf8(kind) + "\", which is not known; it was left out.");
    const std::string at = place_text("cameras", index, kind.c_str());
    const Json* const lens = member(camera, kind.c_str());
    if (!lens) throw ReadFailure(place_text("cameras", index) + " has no member " + kind);
    const auto number = [&](const char* name) { return number_of(*lens, name, at); };
    scene::Camera made;
    made.near = numbers.within("near", number("znear").value_or(orthographic ? 0 : 0.1), 1e9, 0.1);
    made.far = numbers.within("far", number("zfar").value_or(endless), 1e9, 1000);
    if (orthographic) {
      const double width = std::abs(number("xmag").value_or(1)), height = std::abs(number("ymag").value_or(1));
      made.height = numbers.within("height", 2 * height, 1e9);
      if (height > 0) made.aspect = numbers.within("aspect", width / height, 1000);
    } else {
      made.fov = numbers.within("field of view", number("yfov").value_or(made.fov / degrees) * degrees, 180, made.fov);
      made.aspect = numbers.within("aspect", number("aspectRatio").value_or(0), 1000);
    }
    model_.entities[place].camera = made;
  }

  void warn_of_left_out() {
    const auto left_out = static_cast<std::size_t>(std::ranges::count(visited_, false));
    if (left_out == 0) return;
    if (!scene_) throw ReadFailure("some of its nodes are children of each other: the tree is recursive");
    model_.warnings.push_back(plural(left_out, "node was", "nodes were") + " left out: the file shows " +
                              place_text("scenes", *scene_) +
                              (scene_name().empty() ? "" : " (\"" + scene_name() + "\")") + ", and " +
                              (left_out == 1 ? "it is" : "they are") + " not in it.");
  }
  std::string scene_name() const {
    return scene_ ? valid_utf8(text_of(file_.list("scenes")[*scene_], "name")) : std::string();
  }

  static constexpr std::uint32_t unnumbered = ~0u;
  const GltfFile& file_;
  const ModelLimits& limits_;
  ImportedModel model_;
  std::optional<std::size_t> scene_;  // empty if the file has no scenes
  std::vector<std::size_t> roots_;
  std::vector<bool> visited_;              // nodes that have become entities
  std::vector<std::uint32_t> first_part_;  // index of each mesh's first primitive in parts_
  std::uint32_t next_part_ = 0;
  // Primitives of all meshes, read when a node first uses them.
  std::vector<std::optional<ImportedMesh>> parts_;
};

}  // namespace

std::optional<ImportedModel> read_gltf(const std::filesystem::path& file, const ModelLimits& limits) {
  const GltfFile gltf(file);
  if (gltf.is_gltf_1()) return {};
  return GltfReader(gltf, limits).read();
}

}  // namespace muster
