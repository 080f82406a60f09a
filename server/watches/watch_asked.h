// Validates the contents of a Follow message, and converts them to the form that watches use.
#pragma once

#include <expected>
#include <memory>
#include <vector>

#include "messages/session.h"
#include "messages/type_table.h"
#include "server/session/seen_places.h"

namespace muster {

class EntityRegistry;

/// What the user of a watch may see, at one moment. Immutable.
struct WatchSight {
  std::shared_ptr<const Sight> rules;
  std::shared_ptr<const SeenPlaces> places;
  std::shared_ptr<const HiddenTypes> hidden;
};

/// Lists of type ids are sorted and contain no duplicates.
struct WatchAsked {
  bool world = false;
  std::vector<Entity> entities;
  bool subtree = false;
  std::vector<TypeId> with, without;
  bool structure = false;
  bool every_component = false;    ///< includes components that the registry learns later
  std::vector<TypeId> components;  ///< components whose values are sent
  std::vector<Entity> open;        ///< open nodes; nil stands for the roots
  bool inputs = false;
  std::vector<TypeId> input_types;  ///< if empty, all types
  std::vector<TypeId> inputs_except;
  std::vector<TypeId> pushed;
  float rate_max = 0;
  std::uint32_t bytes_max = 0;  ///< limit per second, where 0 means no limit
  std::uint8_t priority = 0;
  std::shared_ptr<const WatchSight> sight;  ///< null if the user may see everything

  /// Returns true if entities may be hidden from the watch.
  bool has_places() const noexcept { return sight && !sight->rules->places().empty(); }
  bool wants_input(TypeId type) const noexcept;
  bool wants_pushed(TypeId type) const noexcept;
  bool wants_events() const noexcept { return inputs || !pushed.empty(); }
};

/// Converts a request. Fails if a type is unknown, if the rate is invalid, or if the request asks
/// for the whole world and also names entities. Types that `sight` hides are unknown.
std::expected<WatchAsked, session::Fault> asked_of(const session::Follow& follow, const EntityRegistry& registry,
                                                   std::shared_ptr<const WatchSight> sight = nullptr);

/// Returns a `not_found` fault for a watch.
session::Fault unknown_watch(std::uint64_t watch);

/// Returns a `bad_question` fault for a field.
session::Fault bad_watch(const char* field, std::string text);

}  // namespace muster
