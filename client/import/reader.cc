#include "client/import/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "messages/utf8.h"

namespace muster {
namespace {

/// A transform is reported to have shear if its error exceeds this fraction of the longest axis.
/// The rounding errors from combining FBX pivots in float precision are smaller.
constexpr double shear_tolerance = 1e-3;

std::string shown(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr};
}

}  // namespace

std::uint32_t add_entity(ImportedModel& model, const ModelLimits& limits, std::uint32_t parent, std::string_view name,
                         bool is_part) {
  const std::uint32_t depth = parent == ImportedEntity::no_parent ? 0 : model.entities[parent].depth + 1;
  if (depth > limits.depth_max)
    throw ReadFailure("its nodes are nested deeper than " + std::to_string(limits.depth_max) +
                      " levels, the most that a world takes");
  if (model.entities.size() >= limits.entities_max)
    throw ReadFailure("it holds more than " + std::to_string(limits.entities_max) +
                      " nodes and parts, the most that one import takes");
  ImportedEntity entity;
  entity.parent = parent;
  entity.depth = depth;
  entity.is_part = is_part;
  entity.is_named = !is_part;
  entity.name = valid_utf8(name);
  const bool is_changed = entity.name != name;
  model.entities.push_back(std::move(entity));
  const auto place = static_cast<std::uint32_t>(model.entities.size() - 1);
  if (is_changed && !is_part)
    model.warnings.push_back(node_text(model, place) +
                             " has control characters or broken UTF-8 in its name; they were replaced.");
  return place;
}

void place_by_matrix(ImportedModel& model, std::uint32_t place, const Matrix& matrix) {
  const Decomposed local = decompose(matrix);
  model.entities[place].transform = local.transform;
  if (!local.finite)
    model.warnings.push_back(node_text(model, place) +
                             " has a transform that is not finite; it is placed at its parent's position.");
  else if (local.error > shear_tolerance)
    model.warnings.push_back(node_text(model, place) + " has a sheared transform; its shear is left out.");
}

void shorten_names(ImportedModel& model) {
  for (ImportedEntity& entity : model.entities) {
    if (entity.mesh && entity.mesh->name.size() > name_bytes_max)
      entity.mesh->name.resize(utf8_prefix(std::string_view(entity.mesh->name).substr(0, name_bytes_max)));
    if (entity.name.size() <= name_bytes_max) continue;
    const std::string began = entity.name.substr(0, utf8_prefix(std::string_view(entity.name).substr(0, 40)));
    model.warnings.push_back("the name that begins with \"" + began + "\" has " + std::to_string(entity.name.size()) +
                             " bytes; it was shortened to " + std::to_string(name_bytes_max) + ".");
    entity.name.resize(utf8_prefix(std::string_view(entity.name).substr(0, name_bytes_max)));
  }
}

float Numbers::within(const char* what, double value, double most, double otherwise) {
  const double kept = std::clamp(std::isfinite(value) ? value : otherwise, 0.0, most);
  if (!(kept == value)) tell(std::string("has ") + what + " " + shown(value) + "; it was made " + shown(kept) + ".");
  return static_cast<float>(kept);
}

std::optional<scene::Shape> shape_of(const Box& box, Numbers& numbers) {
  std::array<float, 3> center{}, size{};
  for (std::size_t i = 0; i < 3; ++i) {
    center[i] = static_cast<float>(box.low[i] * 0.5 + box.high[i] * 0.5);
    size[i] = static_cast<float>(box.high[i] - box.low[i]);
    if (!std::isfinite(center[i]) || !std::isfinite(size[i])) {
      numbers.tell("is too large for a float; it has no bounds.");
      return {};
    }
  }
  return scene::Shape{.center = {.x = center[0], .y = center[1], .z = center[2]},
                      .size = {.x = size[0], .y = size[1], .z = size[2]},
                      .kind = scene::ShapeKind::box};
}

std::string node_text(const ImportedModel& model, std::uint32_t place) {
  return "node \"" + model.entities[place].name + "\" (" + std::to_string(place) + ")";
}

}  // namespace muster
