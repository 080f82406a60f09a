// Answers Find and Resolve with pages of entities in order of id.
#include <algorithm>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"
#include "server/session/shown_text.h"

namespace muster {
namespace {

/// Searches the world in order of entity index. Because an index remains valid when the world
/// changes, it determines where Find continues.
class EntitySearch : public Inquiry {
 public:
  EntitySearch(Asked asked, std::uint32_t rows_max, Entity after)
      : asked_(std::move(asked)), rows_max_(rows_max), after_(after), next_(std::max(after.index, 1u)) {}

  Progress go_on(Steps& steps) final {
    const auto& ids = asked_.registry.host().storage().ids();
    for (; !full_ && next_ < ids.indices(); ++next_) {
      if (!steps.left()) return Progress::again;
      steps.spend(1);
      const Entity e{next_, ids.slot(next_).generation};
      if (e > after_ && asked_.sees(e) && fits(e, steps)) add(e, steps);
    }
    if (!asked_.has_room(bytes_)) return Progress::room;
    found_.sequence = asked_.registry.sequence();
    steps.spend_bytes(bytes_);
    answer(asked_.to(), asked_.request, found_);
    return Progress::done;
  }

 protected:
  virtual bool fits(Entity e, Steps& steps) = 0;
  const Asked asked_;

 private:
  void add(Entity e, Steps& steps) {
    if (found_.entities.size() == rows_max_ || bytes_ >= asked_.limits.page_bytes_max) {
      found_.more = full_ = true;
      return;
    }
    found_.entities.push_back(e);
    found_.paths.push_back(shown_path(asked_.registry, e, asked_.limits.path_bytes_max, steps));
    bytes_ += 24 + found_.paths.back().size();
  }

  const std::uint32_t rows_max_;
  const Entity after_;
  std::uint32_t next_;  // next index to examine
  session::Found found_;
  std::size_t bytes_ = 128;
  bool full_ = false;
};

char folded(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Searches strings for a substring in a single pass, ignoring the case of ASCII letters
/// (Knuth-Morris-Pratt).
class PartOfText {
 public:
  explicit PartOfText(std::string_view part) : borders_(part.size()) {
    for (const char c : part) part_ += folded(c);
    for (std::size_t i = 1, matched = 0; i < part_.size(); ++i) {
      while (matched > 0 && part_[i] != part_[matched]) matched = borders_[matched - 1];
      if (part_[i] == part_[matched]) ++matched;
      borders_[i] = matched;
    }
  }
  bool empty() const noexcept { return part_.empty(); }
  bool is_in(std::string_view text) const noexcept {
    std::size_t matched = 0;
    for (const char each : text) {
      const char c = folded(each);
      while (matched > 0 && c != part_[matched]) matched = borders_[matched - 1];
      if (c == part_[matched]) ++matched;
      if (matched == part_.size()) return true;
    }
    return false;
  }

 private:
  std::string part_;
  std::vector<std::size_t> borders_;
};

class FindSearch final : public EntitySearch {
 public:
  FindSearch(const Asked& asked, const session::Find& what)
      : EntitySearch(asked, rows_allowed(what.limit, asked.limits), what.after),
        part_(what.name),
        components_(what.components),
        under_(what.under) {}

 private:
  bool fits(Entity e, Steps& steps) override {
    const EntityRegistry& registry = asked_.registry;
    steps.spend(components_.size());
    for (const TypeId component : components_)
      if (!registry.find(e, component)) return false;
    if (!part_.empty()) {
      const std::string_view name = registry.name(e);
      steps.spend_bytes(name.size() * 4);
      if (!part_.is_in(name)) return false;
    }
    return !under_ || is_below(e, steps);
  }

  /// Visits each ancestor only once per search, because results are remembered.
  bool is_below(Entity e, Steps& steps) {
    known_.resize(std::max<std::size_t>(known_.size(), asked_.registry.host().storage().ids().indices()));
    bool below = false;
    passed_.clear();
    for (Entity at = e; at; at = asked_.registry.parent(at)) {
      below = at == under_;
      if (below) break;
      if (known_[at.index] >> 1 == (at.generation & 0x7fffffffu)) {
        below = (known_[at.index] & 1) != 0;
        break;
      }
      steps.spend(1);
      passed_.push_back(at);
    }
    for (const Entity at : passed_) known_[at.index] = at.generation << 1 | (below ? 1u : 0u);
    return below;
  }

  const PartOfText part_;
  const std::vector<TypeId> components_;
  const Entity under_;
  // For each entity index, stores the generation and whether the entity is below `under_`. 0 means
  // unknown.
  std::vector<std::uint32_t> known_;
  std::vector<Entity> passed_;
};

/// Finds entities whose path ends with a relative path such as "tower" or "north/tower".
class PathEndSearch final : public EntitySearch {
 public:
  PathEndSearch(const Asked& asked, const session::Resolve& what)
      : EntitySearch(asked, rows_allowed(what.limit, asked.limits), {}) {
    names_.emplace_back();
    for (std::size_t i = 0; i < what.path.size(); ++i) {
      if (what.path[i] == '\\' && i + 1 < what.path.size())
        names_.back() += what.path[++i];
      else if (what.path[i] == '/')
        names_.emplace_back();
      else
        names_.back() += what.path[i];
    }
    std::ranges::reverse(names_);
  }

 private:
  bool fits(Entity e, Steps& steps) override {
    Entity at = e;
    for (const std::string& name : names_) {
      steps.spend(1);
      if (!at || asked_.registry.name(at) != name) return false;
      at = asked_.registry.parent(at);
    }
    return true;
  }

  std::vector<std::string> names_;  // in reverse order
};

session::Fault too_long(const char* field, std::size_t bytes, std::size_t bytes_max) {
  session::Fault fault = fault_of(
      session::FaultCode::bad_question, "too_long",
      std::string(field) + " has " + std::to_string(bytes) + " bytes; " + std::to_string(bytes_max) + " are allowed");
  fault.field = field;
  return fault;
}

}  // namespace

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::Find& asked_for) {
  session::Find what = asked_for;
  if (what.under && !asked.sees(what.under)) return refuse_dead(asked, what.under, "under");
  if (what.name.size() > asked.limits.path_bytes_max)
    return refuse(asked, too_long("name", what.name.size(), asked.limits.path_bytes_max));
  const std::size_t types = asked.type_count();
  if (what.components.size() > types) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, "too_many",
                                    "components names " + std::to_string(what.components.size()) + "; the world has " +
                                        std::to_string(types) + " types");
    fault.field = "components";
    return refuse(asked, fault);
  }
  std::ranges::sort(what.components);
  const auto doubles = std::ranges::unique(what.components);
  what.components.erase(doubles.begin(), doubles.end());
  for (const TypeId component : what.components) {
    const TypeDescriptor* type = asked.type(component);
    if (type && type->role == TypeRole::component) continue;
    session::Fault fault =
        fault_of(session::FaultCode::unknown_type, "unknown_type",
                 type ? type->name + " is not a component" : "no type has the id " + std::to_string(component));
    fault.field = "components";
    fault.type = component;
    return refuse(asked, fault);
  }
  return std::make_unique<FindSearch>(asked, what);
}

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::Resolve& what) {
  if (what.path.empty()) {
    session::Fault fault = fault_of(session::FaultCode::bad_question, "bad_question", "the path is empty");
    fault.field = "path";
    return refuse(asked, fault);
  }
  if (what.path.size() > asked.limits.path_bytes_max)
    return refuse(asked, too_long("path", what.path.size(), asked.limits.path_bytes_max));
  if (what.path.front() != '/') return std::make_unique<PathEndSearch>(asked, what);
  return once(
      asked,
      [asked, path = what.path](Steps& steps) {
        session::Found found;
        found.sequence = asked.registry.sequence();
        if (const Entity e = asked.registry.find_path(path); e && asked.sees(e)) {
          found.entities.push_back(e);
          found.paths.push_back(shown_path(asked.registry, e, asked.limits.path_bytes_max, steps));
        }
        steps.spend_bytes(path.size());
        asked.answer(found);
      },
      asked.limits.path_bytes_max);
}

}  // namespace muster
