#include "server/edits/place_rights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/step_batches.h"
#include "registry/handlers/builtin_messages.h"
#include "schema/muster.h"
#include "server/access/sight.h"
#include "server/session/judge.h"
#include "server/session/shown_text.h"

namespace muster {
namespace {

class PlaceWalk {
 public:
  PlaceWalk(const EntityRegistry& registry, const WriteRules& rules)
      : registry_(registry), rules_(rules), sees_all_places_(!rules.sight() || rules.sight()->places().empty()) {
    for (const RuleEntry& entry : rules.places()) {
      const bool is_root = entry.what == "/";
      const Entity at = is_root ? Entity{} : registry.find_path(entry.what);
      if (is_root || at) places_.push_back({at, entry.allows, &entry});
    }
  }

  std::optional<session::Fault> run(BatchView edit) {
    if (edit.kind() == BatchKind::timed) edit = edit.inner();
    if (edit.type() == TypeTraits<Step>::id && edit.kind() == BatchKind::table) {
      if (!may_write(edit)) return std::move(fault_);
      StepBatches(table_item(edit, edit.body()).table).for_each([&](BatchView batch) {
        if (!fault_) (void)look(batch);
      });
    } else {
      (void)look(edit);
    }
    return std::move(fault_);
  }

 private:
  struct Place {
    Entity entity;  // nil for "/"
    bool allows = false;
    const RuleEntry* entry = nullptr;
  };

  bool deny(TypeId type, std::string text, Entity e = {}) {
    session::Fault fault;
    fault.code = session::FaultCode::no_right;
    fault.reason = "rule";
    fault.type = type;
    fault.entity = e;
    fault.text = std::move(text);
    fault_ = std::move(fault);
    return false;
  }

  bool may_write(BatchView batch) {
    const TypeDescriptor* const type = registry_.types().find(batch.type());
    const TypeDescriptor* denied = nullptr;
    const auto judge = [&](const TypeDescriptor& written) {
      if (!denied && rules_.decides(written) == false) denied = &written;
    };
    if (!type) return true;  // the world will refuse it
    judge(*type);
    for_each_written_type(batch, *type, registry_.types(), judge);
    return !denied || deny(denied->id, "a rule of this server denies this user to write " + denied->name);
  }

  bool look(BatchView batch) {
    if (!may_write(batch) || rules_.places().empty()) return !fault_;
    type_ = batch.type();
    if (type_ == TypeTraits<InternText>::id || type_ == TypeTraits<DefineTemplate>::id) return true;
    switch (batch.kind()) {
      case BatchKind::world: return may_write_at({});
      case BatchKind::table: return tables(batch);
      case BatchKind::subtree:
        for (std::uint32_t i = 0; i < batch.count(); ++i)
          if (!relatives(batch.target(i), batch.header().argument)) return false;
        return true;
      case BatchKind::each:
      case BatchKind::shared: return targets(batch);
      case BatchKind::timed: return true;  // the world will refuse it
    }
    return true;
  }

  bool tables(BatchView batch) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      const std::uint64_t parts = batch.header().argument;
      if (item.target && parts != 0 ? !relatives(item.target, parts) : !may_write_at(item.target)) return false;
    }
    return true;
  }

  bool targets(BatchView batch) {
    const auto payload = [&](std::uint32_t i) { return batch.kind() == BatchKind::shared ? 0 : i; };
    const bool creates = type_ == TypeTraits<Create>::id, spawns = type_ == TypeTraits<Spawn>::id;
    const bool moves = type_ == TypeTraits<Reparent>::id;
    const bool is_structural = moves || type_ == TypeTraits<Rename>::id || type_ == TypeTraits<Destroy>::id;
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const Entity e = batch.target(i);
      Entity parent;
      if (creates) parent = read<Create>(batch, payload(i)).parent;
      if (spawns) parent = read<Spawn>(batch, payload(i)).parent;
      if (moves) parent = read<Reparent>(batch, payload(i)).parent;
      if ((creates || spawns || moves) && !may_write_at(parent)) return false;
      if (creates || spawns) {
        // The entities of a template are below `parent`, too.
        if (!registry_.alive(e)) parents_.insert_or_assign(e, parent);
        continue;
      }
      const bool is_new = !registry_.alive(e) && !parents_.contains(e);  // MergeTemplate
      if (is_new && type_ == TypeTraits<MergeTemplate>::id) {
        parents_.insert_or_assign(e, batch.target(0));
        continue;
      }
      if (!may_write_at(e) || (is_structural && !may_restructure(e))) return false;
      if (moves) parents_.insert_or_assign(e, parent);
      if (moves) checked_ = {};
    }
    return true;
  }

  template <class M>
  static M read(BatchView batch, std::uint32_t i) {
    M message;
    std::memcpy(&message, batch.payload(i), sizeof message);
    return message;
  }

  Entity parent_of(Entity e) const {
    const auto moved = parents_.find(e);
    return moved != parents_.end() ? moved->second : registry_.alive(e) ? registry_.parent(e) : Entity{};
  }

  /// Returns true if the user may write the entity. Nil stands for "/".
  bool may_write_at(Entity e) {
    if (e && e == checked_) return true;
    std::size_t decides = 0;  // index of the deciding place, plus one
    // Moves within a Step could form a circle, which the world refuses.
    std::uint64_t levels = registry_.entity_count() + parents_.size() + 1;
    for (Entity at = e; levels > 0; at = parent_of(at), --levels) {
      for (std::size_t i = places_.size(); i > decides; --i)
        if (places_[i - 1].entity == at) decides = i;
      if (!at) break;
    }
    if (decides == 0 || places_[decides - 1].allows) {
      checked_ = e;
      return true;
    }
    const std::string& path = places_[decides - 1].entry->what;
    const std::string what = e ? shown_id(e) : std::string("this place");
    return deny(type_, "a rule of this server denies this user to write below " + path + ", and " + what + " is there",
                e);
  }

  bool is_above(Entity above, Entity e) const {
    std::uint64_t levels = registry_.entity_count() + parents_.size() + 1;
    for (Entity at = e; at && levels > 0; at = parent_of(at), --levels)
      if (at == above) return true;
    return false;
  }

  bool may_restructure(Entity e) {
    for (const Place& place : places_)
      if (place.entity && is_above(e, place.entity))
        return deny(type_,
                    shown_id(e) + " is, or contains, " + place.entry->what +
                        ", which a rule for this user names; this user cannot rename, move or destroy it",
                    e);
    return true;
  }

  bool relatives(Entity e, std::uint64_t parts) {
    if ((parts & subtree_self) && !may_write_at(e)) return false;
    std::uint64_t levels = registry_.entity_count() + parents_.size() + 1;
    if (parts & subtree_ancestors)
      for (Entity at = parent_of(e); at && levels > 0; at = parent_of(at), --levels)
        if (!may_write_at(at)) return false;
    if (!(parts & subtree_descendants)) return true;
    if (!may_write_at(e)) return false;
    if (!sees_all_places_) return may_write_paths_below(e);
    for (const Place& place : places_)
      if (!place.allows && place.entity && is_above(e, place.entity) && !may_write_at(place.entity)) return false;
    return true;
  }

  /// Returns true if no rule denies a path through the entity, even if nothing is there: the user
  /// must not learn from the answer whether there is a hidden entity.
  bool may_write_paths_below(Entity e) {
    const std::vector<RuleEntry>& entries = rules_.places();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
      const auto allows_it = [&](const RuleEntry& later) {
        return later.allows && (later.what == "/" || (entry->what + '/').starts_with(later.what + '/'));
      };
      if (entry->allows || !passes(entry->what, e) || std::any_of(entry + 1, entries.end(), allows_it)) continue;
      return deny(type_,
                  "a rule of this server denies this user to write below " + entry->what + ", which would be below " +
                      shown_id(e),
                  e);
    }
    return true;
  }

  /// Returns true if the path names the entity before its last name.
  bool passes(const std::string& path, Entity e) const {
    for (std::size_t i = 1; e && i < path.size(); ++i) {
      if (path[i] == '\\')
        ++i;
      else if (path[i] == '/' && registry_.find_path(path.substr(0, i)) == e)
        return true;
    }
    return false;
  }

  const EntityRegistry& registry_;
  const WriteRules& rules_;
  const bool sees_all_places_;
  std::vector<Place> places_;
  std::unordered_map<Entity, Entity> parents_;  // of entities that this edit creates or moves
  TypeId type_ = 0;
  Entity checked_;  // the entity that was allowed last
  std::optional<session::Fault> fault_;
};

}  // namespace

std::optional<session::Fault> rule_fault(const EntityRegistry& registry, const WriteRules& rules, BatchView edit) {
  return PlaceWalk(registry, rules).run(edit);
}

}  // namespace muster
