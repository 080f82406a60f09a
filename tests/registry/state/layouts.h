// Worlds that were saved with one schema and are opened with another, both given as texts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/state/state.h"
#include "tests/model/state_rows.h"

namespace layouts {

/// Parts of schema/muster.fbs, each of which is there once, and what stands in their places.
using Edits = std::vector<std::pair<std::string, std::string>>;

/// The binary schema of a .fbs text (without its include and namespace, which is game), perhaps with another muster.fbs.
std::vector<std::byte> schema_of(const std::string& text, const Edits& muster = {});
/// Of that muster.fbs itself.
std::vector<std::byte> muster_schema(const Edits& edits);

/// Entities by name; of each component the numbers of its fields by dotted path.
using Values = std::map<std::string, double>;

/// A registry that knows only these schemas.
class World {
 public:
  explicit World(const std::vector<std::string>& texts);
  /// Makes a root with one component; fields that are not named have their defaults.
  muster::Entity create(const std::string& name, const std::string& component, const Values& values);
  /// Reads saved state; the error in words, empty where it was read.
  std::string load(const naive::StateRows& rows);
  naive::StateRows rows() const { return naive::saved_rows(registry); }
  /// The field of a component of an entity that is found by its path.
  double value(const std::string& path, const std::string& component, const std::string& field) const;
  bool has(const std::string& path, const std::string& component) const;
  std::vector<std::byte> bytes(const std::string& component, const Values& values) const;

  muster::EntityRegistry registry;
  muster::LoadReport report;
};

}  // namespace layouts
