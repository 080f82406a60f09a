// Tells what the users with one Sight see of the registry. All answers on the world thread ask it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "server/access/sight.h"
#include "server/session/seen_places.h"

namespace muster {

/// Set in the generation of the ids that replace those of hidden entities in edits
/// (server/edits/hidden_targets.h). No entity has such an id.
constexpr std::uint32_t replacing_bit = 0x80000000u;

/// Must be used only on the world thread. Follows the changes of the tree and of the types by
/// itself.
class SeenNow {
 public:
  /// The registry must outlive this object.
  SeenNow(const EntityRegistry& registry, std::shared_ptr<const Sight> sight)
      : registry_(registry), sight_(std::move(sight)) {}
  SeenNow(const SeenNow&) = delete;
  SeenNow& operator=(const SeenNow&) = delete;

  const std::shared_ptr<const Sight>& sight() const noexcept { return sight_; }

  /// Returns true if the entity is alive and visible.
  bool sees(Entity e) { return places()->sees(registry_, e); }
  /// Returns true if the type is known and visible.
  bool sees(TypeId type) { return registry_.types().find(type) && !hidden()->contains(type); }

  /// Returns the entities that the Sight names, as of now. Returns the same object until one of
  /// them changes.
  const std::shared_ptr<const SeenPlaces>& places();
  /// Returns the types that are hidden. Returns the same object until the registry learns a type.
  const std::shared_ptr<const HiddenTypes>& hidden();

  /// Returns the number of an entity's visible children, or of the visible roots if it is nil.
  std::uint32_t child_count(Entity e);
  /// Returns the components of an entity that are visible.
  std::vector<TypeId> components(Entity e);

  /// Returns true if an entity of this name would be visible below the parent. Does not depend on
  /// whether there is such an entity.
  bool may_place(Entity parent, Text name);
  /// If a rule names the entity, or an entity below it that need not exist, returns the rule's
  /// path. Otherwise, returns an empty string.
  std::string named_at_or_below(Entity e);

 private:
  /// A path of the rules, followed as far as it exists.
  struct Path {
    const RuleEntry* entry;
    std::vector<Entity> found;  // in order
    Entity parent;              // of the last name, if all others exist
    std::uint64_t last_name = 0;
    bool has_parent = false;
  };
  void follow_paths();

  const EntityRegistry& registry_;
  const std::shared_ptr<const Sight> sight_;
  std::shared_ptr<const SeenPlaces> places_;
  std::shared_ptr<const HiddenTypes> hidden_;
  std::vector<Path> paths_;
  std::uint64_t sequence_ = 0, swaps_ = 0;  // of the registry when places_ was made
  std::size_t types_known_ = 0;
};

/// Shares a SeenNow among the sessions with the same Sight. Must be used only on the world thread.
class SeenNows {
 public:
  explicit SeenNows(const EntityRegistry& registry) : registry_(registry) {}
  /// Returns null if `sight` is null.
  std::shared_ptr<SeenNow> of(const std::shared_ptr<const Sight>& sight);

 private:
  const EntityRegistry& registry_;
  std::vector<std::weak_ptr<SeenNow>> all_;
};

}  // namespace muster
