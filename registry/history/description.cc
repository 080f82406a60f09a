#include "registry/history/description.h"

#include <algorithm>

#include "registry/history/edit_history.h"

namespace muster::history {
namespace {

/// Returns the entity's name or, if it has none, its id.
std::string entity_text(Entity e, std::string_view name) {
  return name.empty() ? std::to_string(e.index) + ":" + std::to_string(e.generation) : std::string(name);
}

/// Names the managers whose data cannot be brought back.
std::string lost_text(const Part& part) {
  if (!part.details || part.details->held.lost.empty()) return {};
  std::string text;
  for (const std::string& manager : part.details->held.lost) text += (text.empty() ? "" : ", ") + manager;
  return " (data of " + text + " is lost)";
}

std::string part_text(const Part& part, bool redo, const RowsNow& now, const HistorySight* sight) {
  const bool knows = !sight || part.component == 0 || sight->sees(part.component);
  const TypeDescriptor* const type = knows ? now.types().find(part.component) : nullptr;
  const std::string component = type ? type->name : "a component";
  const std::string_view seen_name = !sight || sight->sees(part.entity) ? now.name(part.entity) : std::string_view();
  const std::string entity = entity_text(part.entity, seen_name);
  switch (part.kind) {
    case PartKind::field: {
      const std::string property = type ? property_name(*type, part.offset) : std::string();
      return "set " + component + (property.empty() ? "" : "." + property) + " of " + entity;
    }
    // A step to redo contains the parts of the undo, so redoing it does the opposite.
    case PartKind::added:
    case PartKind::removed:
      return (part.kind == PartKind::added) != redo ? "add " + component + " to " + entity
                                                    : "remove " + component + " from " + entity;
    case PartKind::created:
    case PartKind::destroyed: {
      std::string_view name = seen_name;
      if (name.empty() && part.kind == PartKind::destroyed) name = part.details->snapshot.root_name();
      return ((part.kind == PartKind::created) != redo ? "create " : "destroy ") + entity_text(part.entity, name) +
             lost_text(part);
    }
    case PartKind::moved: return "move " + entity;
    case PartKind::renamed: {
      const auto& [from, to] = redo ? std::tie(part.after, part.before) : std::tie(part.before, part.after);
      return "rename " + (from.empty() ? entity_text(part.entity, {}) : from) + " to " +
             (to.empty() ? std::string("nothing") : to);
    }
    case PartKind::defined: return "define " + (part.details ? part.details->name : std::string("a template"));
  }
  return {};
}

}  // namespace

std::string description(const Step& step, const RowsNow& now, const HistorySight* sight) {
  const auto first = std::ranges::find_if(step.parts, [](const Part& part) { return !part.idle(); });
  if (first == step.parts.end()) return {};
  std::string text = part_text(*first, step.redo, now, sight);
  if (const std::uint32_t parts = step.active_parts(); parts > 1) text += " and " + std::to_string(parts - 1) + " more";
  return text;
}

}  // namespace muster::history
