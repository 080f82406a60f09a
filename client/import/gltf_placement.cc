#include "client/import/gltf_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/import/reader.h"
#include "messages/utf8.h"

namespace muster {
namespace {

scene::Vec3 vec3(const std::array<double, 3>& v) {
  return {.x = static_cast<float>(v[0]), .y = static_cast<float>(v[1]), .z = static_cast<float>(v[2])};
}

bool fits_float(double value) { return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()); }

/// Clamps a value that is only slightly beyond the range of float. The largest float, printed with
/// nine digits, is slightly above its actual value.
double near_float(double value) {
  constexpr double most = static_cast<double>(std::numeric_limits<float>::max());
  return std::abs(value) < most * (1 + 1e-8) ? std::clamp(value, -most, most) : value;
}

}  // namespace

scene::Transform transform_of(Trs trs, std::vector<std::string>& lost) {
  for (auto* const numbers : {&trs.translation, &trs.scale})
    std::ranges::transform(*numbers, numbers->begin(), near_float);
  scene::Transform transform;
  if (std::ranges::all_of(trs.translation, fits_float))
    transform.position = vec3(trs.translation);
  else
    lost.emplace_back("translation");
  if (std::ranges::all_of(trs.scale, fits_float))
    transform.scale = vec3(trs.scale);
  else
    lost.emplace_back("scale");
  const auto& q = trs.rotation;
  const double length = std::hypot(std::hypot(q[0], q[1]), std::hypot(q[2], q[3]));
  if (!(length > 0) || !std::isfinite(length)) {
    lost.emplace_back("rotation");
    return transform;
  }
  // q and -q are the same rotation. Choose one of them, so that equal rotations have equal bytes.
  // Adding 0.0 turns a negative zero into zero.
  const double f = (q[3] < 0 ? -1 : 1) / length;
  const auto part = [&](std::size_t i) { return static_cast<float>(q[i] * f + 0.0); };
  transform.rotation = {.x = part(0), .y = part(1), .z = part(2), .w = part(3)};
  return transform;
}

GltfPlacement placement_of(const Json& node, const std::string& from) {
  GltfPlacement placement;
  if (const auto m = numbers_of<16>(node, "matrix", from)) {
    Matrix& matrix = placement.matrix.emplace();
    for (std::size_t i = 0; i < 16; ++i) matrix[i % 4][i / 4] = (*m)[i];
    return placement;
  }
  Trs& trs = placement.trs;
  trs.translation = numbers_of<3>(node, "translation", from).value_or(trs.translation);
  trs.rotation = numbers_of<4>(node, "rotation", from).value_or(trs.rotation);
  trs.scale = numbers_of<3>(node, "scale", from).value_or(trs.scale);
  return placement;
}

void place_node(ImportedModel& model, std::uint32_t place, const GltfPlacement& placement) {
  if (placement.matrix) return place_by_matrix(model, place, *placement.matrix);
  std::vector<std::string> lost;
  model.entities[place].transform = transform_of(placement.trs, lost);
  for (const std::string& part : lost)
    model.warnings.push_back(node_text(model, place) + " has a " + part +
                             " that does not fit in a float; it is left out.");
}

std::unordered_map<std::string, Gltf1Node> nodes_of_gltf_1(const std::filesystem::path& file) {
  std::unordered_map<std::string, Gltf1Node> nodes;
  const GltfFile gltf(file);
  const Json* const all = member(gltf.json(), "nodes");
  if (!all || !all->is_object()) return nodes;
  for (const auto& [id, node] : all->items())
    nodes.emplace(id, Gltf1Node{text_of(node, "name"), placement_of(node, "nodes." + valid_utf8(id))});
  return nodes;
}

}  // namespace muster
