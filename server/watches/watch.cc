#include "server/watches/watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "registry/observe/clock.h"
#include "registry/storage/hierarchy.h"
#include "schema/muster.h"

namespace muster {
namespace {

/// Returns the types that are not in `others`. Both lists must be sorted.
std::vector<TypeId> without(const std::vector<TypeId>& types, const std::vector<TypeId>& others) {
  std::vector<TypeId> left;
  std::ranges::set_difference(types, others, std::back_inserter(left));
  return left;
}

}  // namespace

Watch::Watch(const Shared& shared, std::shared_ptr<Session> to, std::uint64_t request, std::uint64_t number,
             std::shared_ptr<WatchFigures> figures)
    : shared_(shared),
      world_(shared.world),
      recent_(shared.recent),
      to_(std::move(to)),
      on_(to_->connection()),
      request_(request),
      number_(number),
      figures_(std::move(figures)),
      seen_(shared.recent.now()) {}

std::size_t Watch::entities() const {
  if (is_of_everyone()) return world_.entity_count();
  return members().size();
}

void Watch::publish() const {
  figures_->entities.store(entities(), std::memory_order_relaxed);
  figures_->is_open.store(true, std::memory_order_release);
}

void Watch::hold_state() {
  state_.reset();
  done_.clear();  // what the change adds is not a change of the world
  catch_up();
  state_ = world_.state();
}

/// Marks many entities. Determines only once per archetype which of the components the archetype's
/// entities have.
class Watch::Marking {
 public:
  Marking(Watch& watch, std::span<const TypeId> components, bool structure)
      : watch_(watch), components_(components), structure_(structure) {}
  void operator()(Entity e) {
    if (const SeenKind* const kind = watch_.world().kind(e)) return (*this)(e, *kind);
    if (structure_) watch_.structure_.push_back(e);
  }
  void operator()(Entity e, const SeenKind& kind) {
    for (std::vector<Entity>* list : lists_of(kind)) list->push_back(e);
    if (structure_) watch_.structure_.push_back(e);
  }

 private:
  const std::vector<std::vector<Entity>*>& lists_of(const SeenKind& kind) {
    if (&kind == last_) return *of_last_;
    const auto [at, is_new] = lists_.try_emplace(&kind);
    if (is_new)
      for (const TypeId component : components_)
        if (kind.has(component)) at->second.push_back(&watch_.values_[component]);
    last_ = &kind;
    of_last_ = &at->second;
    return at->second;
  }

  Watch& watch_;
  const std::span<const TypeId> components_;
  const bool structure_;
  std::unordered_map<const SeenKind*, std::vector<std::vector<Entity>*>> lists_;  // in values_

  // Consecutive entities usually have the same kind.
  const SeenKind* last_ = nullptr;
  const std::vector<std::vector<Entity>*>* of_last_ = nullptr;
};

// --- scope

void Watch::become(WatchAsked next) {
  hold_state();
  const std::vector<TypeId> added = without(next.components, asked_.components);
  for (const TypeId component : without(asked_.components, next.components)) values_.erase(component);
  const bool structure_new = next.structure && !asked_.structure;
  if (!next.structure) {
    structure_.clear();
    told_ = {};
  }
  EntitySet named;
  for (const Entity e : std::exchange(next.entities, {}))
    if (is_there(e, next.sight.get()))
      named.insert(e);
    else
      mark_dead(e, next.structure);
  std::vector<Entity> opened = std::exchange(next.open, {}), closed;
  const bool filtered = !next.with.empty() || !next.without.empty() || next.has_places();
  const bool other_members = next.world != asked_.world || next.subtree != asked_.subtree || next.with != asked_.with ||
                             next.without != asked_.without || named != named_ || filtered != filtered_;
  const bool was_everyone = is_of_everyone();
  was_without_structure_ =
      was_without_structure_ || (figures_->is_open.load(std::memory_order_relaxed) && structure_new);
  const std::uint32_t bytes_max_before = asked_.bytes_max;
  asked_ = std::move(next);
  if (asked_.bytes_max != bytes_max_before) budget.set(asked_.bytes_max, steady_ns());
  if (other_members) {
    named_ = std::move(named);
    const EntitySet before = std::exchange(filtered_ ? shown_ : scope_, {});
    filtered_ = filtered;
    find_members(before, was_everyone, added, structure_new);
  } else if (!added.empty() || structure_new) {
    mark_members(added, structure_new);
  }
  if (!open_.empty()) {
    const std::unordered_set<Entity> kept(opened.begin(), opened.end());
    for (const Entity node : open_)
      if (!kept.contains(node)) closed.push_back(node);
  }
  tidy();
  change_nodes(opened, closed);
  publish();
}

void Watch::change(std::span<const Entity> add, std::span<const Entity> drop, std::span<const Entity> open,
                   std::span<const Entity> close) {
  hold_state();
  if (!asked_.world) change_entities(add, drop);
  change_nodes(open, close);
  publish();
}

std::size_t Watch::marks() const {
  std::size_t sum = structure_.size() + gone_.size() + rows_.size();
  for (const auto& [component, entities] : values_) sum += entities.size();
  return sum;
}

void Watch::tidy() {
  if (marks() <= tidy_at_) return;
  for (std::vector<Entity>* list : {&structure_, &gone_, &rows_}) sort_unique(*list);
  structure_in_order_ = 0;
  for (auto& [component, entities] : values_) sort_unique(entities);
  tidy_at_ = 2 * marks() + tidy_min;
}

void Watch::find_members(const EntitySet& before, bool was_everyone, std::span<const TypeId> added,
                         bool structure_new) {
  scope_.clear();
  shown_.clear();
  if (!asked_.world) named_.each([&](Entity e) { add_scope(e); });
  if (filtered_ && asked_.world)
    world().each_chunk([&](const SeenState::Chunk& chunk) {
      if (!chunk.kinds.each && !passes(*chunk.kinds.whole)) return;
      for (std::uint32_t row = 0; row < chunk.ids->size(); ++row)
        if ((!chunk.kinds.each || passes(chunk.kinds.at(row))) && (!asked_.sight || is_there((*chunk.ids)[row])))
          shown_.insert((*chunk.ids)[row]);
    });
  else if (filtered_)
    scope_.each([&](Entity e) {
      if (passes(e)) shown_.insert(e);
    });
  Marking mark_known(*this, added, structure_new), mark_new(*this, asked_.components, asked_.structure);
  const auto mark_member = [&](Entity e) { (was_everyone || before.contains(e) ? mark_known : mark_new)(e); };
  if (asked_.world && !was_everyone && before.empty())
    mark_everyone(asked_.components, asked_.structure);
  else if (is_of_everyone())
    world().each([&](Entity e, const SeenKind&) { mark_member(e); });
  else
    members().each(mark_member);
  const auto tell_gone = [&](Entity e) {
    if (!concerns(e)) leave(e);
  };
  if (was_everyone)
    world().each([&](Entity e, const SeenKind&) { tell_gone(e); });
  else
    before.each(tell_gone);
}

void Watch::add_scope(Entity e) {
  std::vector<Entity> open{e};
  while (!open.empty()) {
    const Entity at = open.back();
    open.pop_back();
    if (!scope_.insert(at) || !asked_.subtree) continue;
    each_child(at, [&](Entity child) { open.push_back(child); });
  }
}

void Watch::mark_dead(Entity e, bool structure) {
  // The request named the entity, so the client knows the entity.
  if (structure) told_.put(e, Told{});
  gone_.push_back(e);
}

void Watch::change_entities(std::span<const Entity> add, std::span<const Entity> drop) {
  for (const Entity e : drop) named_.erase(e);
  for (const Entity e : add)
    if (is_there(e))
      named_.insert(e);
    else
      mark_dead(e, asked_.structure);
  for (const Entity e : drop)
    if (world().alive(e)) flip(e, is_inside(e));
  for (const Entity e : add)
    if (world().alive(e)) flip(e, is_inside(e));
  tidy();
}

void Watch::change_nodes(std::span<const Entity> open, std::span<const Entity> close) {
  for (const Entity node : close) {
    if (open_.erase(node) == 0) continue;
    const auto forget = [&](Entity child) {
      if (const Entity* const known = listed_.find(child); known && *known == node) listed_.erase(child);
    };
    each_child(node, forget);
  }
  std::vector<Entity> opened;
  for (const Entity node : open) {
    if (node && !is_there(node))
      mark_dead(node, asked_.structure);
    else if (open_.insert(node).second)
      opened.push_back(node);
  }
  // If no entity was marked before, no entity can be marked twice, because each entity is a child
  // of only one node.
  const bool waiting = !rows_.empty();
  for (const Entity node : opened) each_child(node, [&](Entity child) { rows_.push_back(child); });
  if (waiting && !opened.empty()) sort_unique(rows_);
}

void Watch::learn(TypeId component) {
  if (!asked_.every_component || std::ranges::binary_search(asked_.components, component)) return;
  if (asked_.sight && asked_.sight->hidden->contains(component)) return;
  asked_.components.insert(std::ranges::upper_bound(asked_.components, component), component);
  mark_members({&component, 1}, false);
}

void Watch::mark_members(std::span<const TypeId> components, bool structure) {
  if (asked_.world) return mark_everyone(components, structure);
  members().each(Marking(*this, components, structure));
}

bool Watch::passes(const SeenKind& kind) const {
  const auto has = [&](TypeId component) { return kind.has(component); };
  return std::ranges::all_of(asked_.with, has) && std::ranges::none_of(asked_.without, has);
}

bool Watch::passes(Entity e) const {
  const SeenKind* const kind = world().kind(e);
  return kind && passes(*kind) && (!asked_.sight || is_there(e));
}

void Watch::mark(Entity e, std::span<const TypeId> components, bool structure) {
  for (const TypeId component : components)
    if (world().find(e, component)) values_[component].push_back(e);
  if (structure) structure_.push_back(e);
}

void Watch::mark_everyone(std::span<const TypeId> components, bool structure) {
  Marking mark(*this, components, structure);
  const SeenKind* last = nullptr;
  bool right = false;
  world().each([&](Entity e, const SeenKind& kind) {
    if (&kind != std::exchange(last, &kind)) right = passes(kind);
    if (right && (!asked_.sight || is_there(e))) mark(e, kind);
  });
}

void Watch::leave(Entity e) {
  gone_.push_back(e);
  note_left(e, false);
}

// --- changes

void Watch::catch_up() {
  if (state_) return;
  const std::uint64_t since = std::exchange(seen_, recent_.now());
  if (since == seen_) return;
  catch_up_members(since);
  if (asked_.structure) {
    const auto note = [&](Entity e) {
      if (concerns(e)) structure_.push_back(e);
    };
    recent_.each_structure(since, note);
    recent_.each(TypeTraits<Name>::id, since, note);
  }
  if (!open_.empty()) catch_up_rows(since);
  for (const TypeId component : asked_.components) catch_up_values(component, since);
  // If nothing concerns the client, it has all changes up to here.
  if (!done_.empty() && done_.back().is_last && !pending()) done_.back().look = seen_;
  publish();
}

void Watch::catch_up_values(TypeId component, std::uint64_t since) {
  std::vector<Entity>& pending = values_[component];
  sort_unique(pending);
  const std::size_t before = pending.size();
  // Visit either the members or the changed entities, whichever set is smaller. Dead entities are
  // no longer members.
  if (!is_of_everyone() && members().size() < recent_.work(component, since))
    members().each([&](Entity e) {
      if (recent_.changed(component, e, since)) pending.push_back(e);
    });
  else
    recent_.each(component, since, [&](Entity e) {
      if (concerns(e)) pending.push_back(e);
    });
  if (before > 0 && pending.size() > before) merge_unique(pending, before);
  if (pending.empty()) values_.erase(component);
}

void Watch::catch_up_members(std::uint64_t since) {
  if (is_of_everyone()) return;
  if (recent_.structure_changed() > since) {
    // Visit parents first, because children become members through their parents.
    std::vector<std::pair<std::uint32_t, Entity>> living;
    recent_.each_structure(since, [&](Entity e) {
      if (world().alive(e)) {
        if (!asked_.world) living.emplace_back(world().depth(e), e);
        return;
      }
      named_.erase(e);
      const bool was_inside = scope_.erase(e);
      if (filtered_ ? shown_.erase(e) : was_inside) leave(e);
    });
    std::ranges::sort(living);
    for (const auto& [depth, e] : living) flip(e, is_inside(e));
    if (asked_.has_places())
      recent_.each_structure(since, [&](Entity e) {
        if (world().alive(e)) reconsider_with_descendants(e);
      });
  }
  if (filtered_) recent_.each_kind(since, [&](Entity e) { reconsider(e); });
}

bool Watch::is_inside(Entity e) const {
  return named_.contains(e) || (asked_.subtree && scope_.contains(world().parent(e)));
}

/// Moves an entity and all affected descendants into or out of the scope.
void Watch::flip(Entity e, bool inside) {
  if (scope_.contains(e) == inside) return;
  std::vector<Entity> open{e};
  while (!open.empty()) {
    const Entity at = open.back();
    open.pop_back();
    const bool comes = at == e ? inside : is_inside(at);
    if (comes ? !scope_.insert(at) : !scope_.erase(at)) continue;
    if (filtered_)
      reconsider(at);
    else if (comes)
      mark(at, asked_.components, asked_.structure);
    else
      leave(at);
    if (asked_.subtree) each_child(at, [&](Entity child) { open.push_back(child); });
  }
}

void Watch::reconsider(Entity e) {
  const bool shows = (asked_.world || scope_.contains(e)) && passes(e);
  if (shows && shown_.insert(e))
    mark(e, asked_.components, asked_.structure);
  else if (!shows && shown_.erase(e))
    leave(e);
}

void Watch::reconsider_with_descendants(Entity e) {
  std::vector<Entity> open{e};
  while (!open.empty()) {
    const Entity at = open.back();
    open.pop_back();
    reconsider(at);
    each_child(at, [&](Entity child) { open.push_back(child); });
  }
}

void Watch::see(std::shared_ptr<const WatchSight> sight) {
  state_.reset();  // it is of a time when other entities were visible
  asked_.sight = std::move(sight);
  if (is_paused()) return;  // it will be opened anew
  catch_up();
  if (!asked_.has_places()) return;
  if (asked_.world)
    world().each([&](Entity e, const SeenKind&) { reconsider(e); });
  else
    scope_.each([&](Entity e) { reconsider(e); });
  std::vector<Entity> closed;
  for (const Entity node : open_) {
    each_child(node, [&](Entity child) { rows_.push_back(child); });
    if (node && !is_there(node)) closed.push_back(node);
  }
  for (const Entity node : closed) {
    open_.erase(node);
    leave(node);
  }
  sort_unique(rows_);
  tidy();
  publish();
}

/// Marks the row of the visible sibling that follows a hidden entity.
void Watch::mark_next_row(Entity hidden) {
  if (const Entity next = there_from(world().next_sibling(hidden))) rows_.push_back(next);
}

Entity Watch::there_from(Entity e) const {
  if (asked_.has_places())
    while (e && !is_there(e)) e = world().next_sibling(e);
  return e;
}

void Watch::catch_up_rows(std::uint64_t since) {
  const std::size_t before = rows_.size();
  const auto note = [&](Entity e) {
    if (world().alive(e)) {
      if (asked_.has_places() && open_.contains(world().parent(e)) && !is_there(e)) mark_next_row(e);
      if (open_.contains(world().parent(e)) || listed_.find(e)) rows_.push_back(e);
      return;
    }
    if (open_.erase(e) > 0) leave(e);
    if (listed_.find(e)) rows_.push_back(e);
  };
  recent_.each_structure(since, note);
  recent_.each_kind(since, note);
  recent_.each_link(since, note);
  recent_.each(TypeTraits<Name>::id, since, note);
  if (rows_.size() > before) sort_unique(rows_);
}

}  // namespace muster
