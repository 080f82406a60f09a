#include "server/watches/watch_asked.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "registry/entity_registry.h"
#include "server/session/session.h"

namespace muster {
namespace {

std::vector<TypeId> sorted(std::vector<TypeId> types) {
  std::ranges::sort(types);
  const auto doubles = std::ranges::unique(types);
  types.erase(doubles.begin(), doubles.end());
  return types;
}

/// Returns a fault for the first id that is unknown or is not the type of a component (or, if
/// `components` is false, of a message).
std::optional<session::Fault> wrong_types(const TypeTable& types, const std::vector<TypeId>& ids, bool components,
                                          const char* field, const WatchSight* sight) {
  for (const TypeId id : ids) {
    const TypeDescriptor* type = sight && sight->hidden->contains(id) ? nullptr : types.find(id);
    if (type && (components ? type->role == TypeRole::component
                            : type->role == TypeRole::message || type->role == TypeRole::table_message))
      continue;
    session::Fault fault = fault_of(session::FaultCode::unknown_type, "unknown_type",
                                    type ? type->name + (components ? " is not a component" : " is not a message")
                                         : "no type has the id " + std::to_string(id));
    fault.field = field;
    fault.type = id;
    return fault;
  }
  return std::nullopt;
}

std::vector<TypeId> values_of(const std::vector<TypeId>& named, const TypeTable& types, const WatchSight* sight) {
  if (!named.empty()) return sorted(named);
  std::vector<TypeId> all;
  for (const TypeDescriptor* type : types.types())
    if (type->role == TypeRole::component && !(sight && sight->hidden->contains(type->id))) all.push_back(type->id);
  return sorted(std::move(all));
}

bool is_rate(float rate) { return rate >= 0 && rate <= 1e6f; }
session::Fault wrong_rate() { return bad_watch("rate_max", "a rate is between 0 and 1000000 per second"); }

}  // namespace

session::Fault unknown_watch(std::uint64_t watch) {
  session::Fault fault =
      fault_of(session::FaultCode::not_found, "unknown_watch", "this session has no watch " + std::to_string(watch));
  fault.field = "watch";
  return fault;
}

session::Fault bad_watch(const char* field, std::string text) {
  session::Fault fault = fault_of(session::FaultCode::bad_question, "bad_question", std::move(text));
  fault.field = field;
  return fault;
}

bool WatchAsked::wants_input(TypeId type) const noexcept {
  return inputs && (input_types.empty() || std::ranges::binary_search(input_types, type)) &&
         !std::ranges::binary_search(inputs_except, type);
}

bool WatchAsked::wants_pushed(TypeId type) const noexcept { return std::ranges::binary_search(pushed, type); }

std::expected<WatchAsked, session::Fault> asked_of(const session::Follow& follow, const EntityRegistry& registry,
                                                   std::shared_ptr<const WatchSight> sight) {
  if (!is_rate(follow.rate_max)) return std::unexpected(wrong_rate());
  if (follow.world && !follow.entities.empty())
    return std::unexpected(bad_watch("entities", "a watch of the whole world cannot also name entities"));
  const TypeTable& types = registry.types();
  const std::pair<const std::vector<TypeId>*, const char*> components[] = {
      {&follow.components, "components"}, {&follow.with, "with"}, {&follow.without, "without"}};
  for (const auto& [ids, field] : components)
    if (auto wrong = wrong_types(types, *ids, true, field, sight.get())) return std::unexpected(*wrong);
  const std::pair<const std::vector<TypeId>*, const char*> messages[] = {
      {&follow.input_types, "input_types"}, {&follow.inputs_except, "inputs_except"}, {&follow.pushed, "pushed"}};
  for (const auto& [ids, field] : messages)
    if (auto wrong = wrong_types(types, *ids, false, field, sight.get())) return std::unexpected(*wrong);
  WatchAsked asked;
  asked.world = follow.world;
  asked.entities = follow.entities;
  asked.subtree = follow.subtree;
  asked.with = sorted(follow.with);
  asked.without = sorted(follow.without);
  asked.structure = follow.structure;
  if (follow.values) {
    asked.every_component = follow.components.empty();
    asked.components = values_of(follow.components, types, sight.get());
  }
  asked.open = follow.open;
  asked.inputs = follow.inputs;
  asked.input_types = sorted(follow.input_types);
  asked.inputs_except = sorted(follow.inputs_except);
  asked.pushed = sorted(follow.pushed);
  asked.rate_max = follow.rate_max;
  asked.bytes_max = follow.bytes_max;
  asked.priority = follow.priority;
  asked.sight = std::move(sight);
  return asked;
}

}  // namespace muster
