// A registry that contains some entities of another one, with the same ids, so that edits can be
// tried on it. Entities, components, texts and templates are copied when they are asked for, with
// their values in the world. Whatever an edit may look at must be copied before the edit is pushed;
// the rest of the world then makes no difference to its result.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/entity_registry.h"

namespace muster {

/// Must be used only on the world thread, between two inputs of the world.
class PartialCopy {
 public:
  /// Copies the types and the ids of `world`, which must outlive this object. The time depends on
  /// the number of ids that were ever used, at about 10 ns for each.
  explicit PartialCopy(const EntityRegistry& world);

  /// The copy. It has no handlers, managers, timers or sinks. Ids that are alive in the world and
  /// were not copied count as granted.
  EntityRegistry& registry() noexcept { return copy_; }

  /// Copies an entity and its ancestors, without other components than their names. Has no effect
  /// on ids that are not alive in the world, and on entities that were copied before.
  void bring(Entity e);
  /// Copies an entity and one of its components, if it has the component.
  void bring(Entity e, TypeId component);
  /// Copies the entities that are below an entity of the copy.
  void bring_below(Entity e);
  /// Copies the child of `parent` that has this name, if there is one.
  void bring_child(Entity parent, Text name);
  /// Copies the children of `parent` that stand in the way of the next `uses` free names
  /// (Names::free_name).
  void bring_suffixed(Entity parent, Text name, std::uint32_t uses);
  void bring(Text text);
  void bring_template(std::string_view name);

  /// The entities and components that were copied, in order.
  const std::vector<Entity>& entities() const noexcept { return entities_; }
  const std::vector<std::pair<Entity, TypeId>>& components() const noexcept { return components_; }

 private:
  void create(Entity e);

  const EntityRegistry& world_;
  EntityRegistry copy_;
  std::vector<Entity> entities_;
  std::unordered_set<Entity> known_;
  std::vector<std::pair<Entity, TypeId>> components_;
  std::set<std::pair<std::uint64_t, TypeId>> known_components_;  // by the bits of the entity's id
  std::unordered_set<std::string> templates_;
  BatchBuilder builder_;
};

}  // namespace muster
