// The places of a user's Sight as entities, and the test for whether an entity is visible.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "schema/builtin.h"
#include "server/access/sight.h"

namespace muster {

class EntityRegistry;

/// The entities that a Sight names, at one moment. Immutable after places_of(), so that any thread
/// may read it.
class SeenPlaces {
 public:
  /// Returns true if no entity is hidden.
  bool empty() const noexcept { return places_.empty(); }
  /// Returns true if the entity is alive and visible. Of the places that are the entity or above
  /// it, the last one in the rules decides. The entities above a visible place are visible, too.
  /// `World` is EntityRegistry or SeenState.
  template <class World>
  bool sees(const World& world, Entity e) const {
    if (!world.alive(e)) return false;
    if (places_.empty()) return true;
    const Place* const decides = deciding(world, e);
    return !decides || decides->shows || above_.contains(e);
  }
  friend bool operator==(const SeenPlaces&, const SeenPlaces&) = default;

 private:
  friend SeenPlaces places_of(const EntityRegistry& registry, const Sight& sight);
  struct Place {
    std::uint32_t order = 0;
    bool shows = false;
    friend bool operator==(const Place&, const Place&) = default;
  };
  template <class World>
  const Place* deciding(const World& world, Entity e) const {
    const Place* decides = nullptr;
    for (Entity at = e;; at = world.parent(at)) {
      if (const auto found = places_.find(at); found != places_.end())
        if (!decides || found->second.order > decides->order) decides = &found->second;
      if (!at) return decides;
    }
  }

  std::unordered_map<Entity, Place> places_;  // nil stands for "/"
  std::unordered_set<Entity> above_;          // above a visible place
};

/// Returns the places that exist now. Must be called on the world thread.
[[nodiscard]] SeenPlaces places_of(const EntityRegistry& registry, const Sight& sight);

}  // namespace muster
