#include "registry/history/step_parts.h"

#include <utility>

namespace muster::history {

StepParts::StepParts(Step& step, bool revives) : step_(step), revives_(revives) {
  for (std::uint32_t i = 0; i < step_.parts.size(); ++i) know(i);
}

void StepParts::know(std::uint32_t number) {
  const Part& part = step_.parts[number];
  switch (part.kind) {
    case PartKind::field: fields_[{part.entity.bits(), part.component, part.offset}] = number; return;
    case PartKind::added:
    case PartKind::removed: components_[{part.entity.bits(), part.component, 0}] = number; return;
    case PartKind::destroyed: last_destroyed_ = number; [[fallthrough]];
    case PartKind::created:
    case PartKind::moved:
    case PartKind::renamed: structural_.push_back(number); return;
    case PartKind::defined: templates_[part.details->name] = number; return;
  }
}

Part* StepParts::find(const Part& part) {
  switch (part.kind) {
    case PartKind::field: {
      const auto known = fields_.find({part.entity.bits(), part.component, part.offset});
      if (known == fields_.end()) return nullptr;
      if (const auto at = components_.find({part.entity.bits(), part.component, 0});
          at != components_.end() && at->second > known->second)
        return nullptr;
      if (revives_ && last_destroyed_ != none && last_destroyed_ > known->second) return nullptr;
      Part& found = step_.parts[known->second];
      return found.fingerprint == part.fingerprint ? &found : nullptr;
    }
    case PartKind::moved:
    case PartKind::renamed: {
      for (; !structural_.empty(); structural_.pop_back()) {
        Part& last = step_.parts[structural_.back()];
        if (last.kind == part.kind && last.entity == part.entity) return &last;
        if (!last.idle()) break;
      }
      return nullptr;
    }
    case PartKind::defined: {
      const auto known = templates_.find(part.details->name);
      return known == templates_.end() ? nullptr : &step_.parts[known->second];
    }
    default: return nullptr;
  }
}

void StepParts::join(Part& known, Part part) {
  known.sequence = part.sequence;
  known.after = std::move(part.after);
  if (known.kind == PartKind::moved) known.details->after = part.details->after;
}

}  // namespace muster::history
