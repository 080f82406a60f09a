// What a watch is to tell: what Watch and Follow ask for, in one form.
#pragma once

#include <expected>
#include <vector>

#include "messages/session.h"
#include "messages/type_table.h"

namespace muster {

class EntityRegistry;

/// Lists of type ids are sorted and name nothing twice.
struct WatchAsked {
  bool changeable = false;  ///< asked by Follow: values come as Values, and it may be changed
  bool world = false;
  std::vector<Entity> entities;
  bool subtree = false;
  std::vector<TypeId> with, without;
  bool structure = false;
  bool every_component = false;    ///< of those that there will be too
  std::vector<TypeId> components;  ///< whose values are told
  std::vector<Entity> open;        ///< nodes; nil: the roots
  bool inputs = false;
  std::vector<TypeId> input_types;  ///< none: every type
  std::vector<TypeId> inputs_except;
  std::vector<TypeId> pushed;
  float rate_max = 0;
  std::uint32_t bytes_max = 0;  ///< a second; 0: any
  std::uint8_t priority = 0;

  bool wants_input(TypeId type) const noexcept;
  bool wants_pushed(TypeId type) const noexcept;
  bool wants_events() const noexcept { return inputs || !pushed.empty(); }
};

/// Or what is wrong with the question: types that there are not, entities that are not alive (of Watch), nothing to tell.
std::expected<WatchAsked, session::Fault> asked_of(const session::Watch& watch, const EntityRegistry& registry);
std::expected<WatchAsked, session::Fault> asked_of(const session::Follow& follow, const EntityRegistry& registry);

/// not_found.
session::Fault unknown_watch(std::uint64_t watch);

/// bad_question, about a field.
session::Fault bad_watch(const char* field, std::string text);

}  // namespace muster
