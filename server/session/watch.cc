#include "server/session/watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "registry/storage/hierarchy.h"
#include "schema/muster.h"

namespace muster {
namespace {

/// Of sorted lists.
std::vector<TypeId> without(const std::vector<TypeId>& types, const std::vector<TypeId>& others) {
  std::vector<TypeId> left;
  std::ranges::set_difference(types, others, std::back_inserter(left));
  return left;
}

/// Calls f(entity, archetype) for everyone, by index: lists of those are in order then, which sorting them costs the most.
template <class F>
void each_by_index(const EntityRegistry& registry, F&& f) {
  const Storage& storage = registry.storage();
  std::size_t left = registry.entity_count();
  for (std::uint32_t index = 0; left > 0 && index < storage.ids().indices(); ++index) {
    const Entity e{index, storage.ids().slot(index).generation};
    const Row row = storage.find(e);
    if (!row) continue;
    --left;
    f(e, *row.chunk->archetype);
  }
}

}  // namespace

Watch::Watch(EntityRegistry& registry, Changes& changes, const RecentChanges& recent, std::shared_ptr<Session> to,
             std::uint64_t request, std::uint64_t number)
    : registry_(registry),
      changes_(changes),
      recent_(recent),
      to_(std::move(to)),
      request_(request),
      number_(number),
      seen_(recent.now()) {}

Watch::~Watch() {
  for (const TypeId component : asked_.components) changes_.drop(component);
  asked_ = {};
  filtered_ = false;
  asked_.world = true;
  open_.clear();
  note_wants();
}

std::size_t Watch::entities() const {
  if (is_of_everyone()) return registry_.entity_count();
  return members().size();
}

/// What changes are to be found for it.
void Watch::note_wants() {
  const bool listing = !open_.empty();
  const auto set = [&](bool& wanted, bool wants, auto want, auto drop) {
    if (wanted == wants) return;
    wanted = wants;
    wants ? want() : drop();
  };
  const bool structure = asked_.structure || !is_of_everyone() || listing;
  const auto set_structure = [&] {
    set(wants_structure_, structure, [&] { changes_.want_structure(); }, [&] { changes_.drop_structure(); });
  };
  if (structure) set_structure();
  set(wants_kinds_, filtered_ || listing, [&] { changes_.want_kinds(); }, [&] { changes_.drop_kinds(); });
  set(wants_links_, listing, [&] { changes_.want_links(); }, [&] { changes_.drop_links(); });
  set(
      wants_names_, asked_.structure || listing, [&] { changes_.want(TypeTraits<Name>::id); },
      [&] { changes_.drop(TypeTraits<Name>::id); });
  if (!structure) set_structure();
}

/// Marks many: which components those of an archetype have is found once.
class Watch::Marking {
 public:
  Marking(Watch& watch, std::span<const TypeId> components, bool structure)
      : watch_(watch), components_(components), structure_(structure) {}
  void operator()(Entity e) {
    if (const Row row = watch_.registry_.storage().find(e)) return (*this)(e, *row.chunk->archetype);
    if (structure_) watch_.structure_.push_back(e);
  }
  void operator()(Entity e, const Archetype& archetype) {
    for (std::vector<Entity>* list : lists_of(archetype)) list->push_back(e);
    if (structure_) watch_.structure_.push_back(e);
  }

 private:
  const std::vector<std::vector<Entity>*>& lists_of(const Archetype& archetype) {
    if (&archetype == last_) return *of_last_;
    const auto [at, is_new] = lists_.try_emplace(&archetype);
    if (is_new)
      for (const TypeId component : components_)
        if (archetype.has(component)) at->second.push_back(&watch_.values_[component]);
    last_ = &archetype;
    of_last_ = &at->second;
    return at->second;
  }

  Watch& watch_;
  const std::span<const TypeId> components_;
  const bool structure_;
  std::unordered_map<const Archetype*, std::vector<std::vector<Entity>*>> lists_;  // in values_
  // Neighbours are alike, mostly.
  const Archetype* last_ = nullptr;
  const std::vector<std::vector<Entity>*>* of_last_ = nullptr;
};

// --- what it is of

std::size_t Watch::become(WatchAsked next) {
  const std::vector<TypeId> added = without(next.components, asked_.components);
  const std::vector<TypeId> dropped = without(asked_.components, next.components);
  for (const TypeId component : added) changes_.want(component);
  for (const TypeId component : dropped) {
    changes_.drop(component);
    values_.erase(component);
  }
  const bool structure_new = next.structure && !asked_.structure;
  if (!next.structure) {
    structure_.clear();
    told_ = {};
  }
  EntitySet named;
  for (const Entity e : std::exchange(next.entities, {}))
    if (registry_.alive(e))
      named.insert(e);
    else
      gone_.push_back(e);
  std::vector<Entity> opened = std::exchange(next.open, {}), closed;
  const bool other_members = next.world != asked_.world || next.subtree != asked_.subtree || next.with != asked_.with ||
                             next.without != asked_.without || named != named_;
  const bool was_everyone = is_of_everyone();
  asked_ = std::move(next);
  std::size_t work = 1;
  if (other_members) {
    named_ = std::move(named);
    const EntitySet before = std::exchange(filtered_ ? shown_ : scope_, {});
    filtered_ = !asked_.with.empty() || !asked_.without.empty();
    note_wants();
    work += find_members(before, was_everyone, added, structure_new);
  } else {
    note_wants();
    if (!added.empty() || structure_new) {
      mark_members(added, structure_new);
      work += entities();
    }
  }
  if (!open_.empty()) {
    const std::unordered_set<Entity> kept(opened.begin(), opened.end());
    for (const Entity node : open_)
      if (!kept.contains(node)) closed.push_back(node);
  }
  tidy();
  return work + change_nodes(opened, closed);
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

std::size_t Watch::find_members(const EntitySet& before, bool was_everyone, std::span<const TypeId> added,
                                bool structure_new) {
  scope_.clear();
  shown_.clear();
  if (!asked_.world) named_.each([&](Entity e) { add_scope(e); });
  if (filtered_ && asked_.world)
    each_of_world([&](const Chunk& chunk) {
      for (std::uint32_t row = 0; row < chunk.count; ++row) shown_.insert(chunk.ids()[row]);
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
    each_by_index(registry_, [&](Entity e, const Archetype&) { mark_member(e); });
  else
    members().each(mark_member);
  const auto tell_gone = [&](Entity e) {
    if (!concerns(e)) leave(e);
  };
  if (was_everyone)
    each_by_index(registry_, [&](Entity e, const Archetype&) { tell_gone(e); });
  else
    before.each(tell_gone);
  return (asked_.world || was_everyone ? registry_.entity_count() : scope_.size()) + before.size();
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

std::size_t Watch::change_entities(std::span<const Entity> add, std::span<const Entity> drop) {
  const std::size_t before = scope_.size();
  for (const Entity e : drop) named_.erase(e);
  for (const Entity e : add)
    if (registry_.alive(e))
      named_.insert(e);
    else
      gone_.push_back(e);
  for (const Entity e : drop)
    if (registry_.alive(e)) flip(e, is_inside(e));
  for (const Entity e : add)
    if (registry_.alive(e)) flip(e, is_inside(e));
  tidy();
  const std::size_t after = scope_.size();
  return add.size() + drop.size() + (after > before ? after - before : before - after);
}

std::size_t Watch::change_nodes(std::span<const Entity> open, std::span<const Entity> close) {
  std::size_t work = open.size() + close.size();
  for (const Entity node : close) {
    if (open_.erase(node) == 0) continue;
    const auto forget = [&](Entity child) {
      if (const Entity* const known = listed_.find(child); known && *known == node) listed_.erase(child);
      ++work;
    };
    each_child(node, forget);
  }
  std::vector<Entity> opened;
  for (const Entity node : open) {
    if (node && !registry_.alive(node))
      gone_.push_back(node);
    else if (open_.insert(node).second)
      opened.push_back(node);
  }
  note_wants();
  const bool waiting = !rows_.empty();  // else nobody is marked twice: each is a child of one node
  for (const Entity node : opened)
    each_child(node, [&](Entity child) {
      rows_.push_back(child);
      ++work;
    });
  if (waiting && !opened.empty()) sort_unique(rows_);
  return work;
}

void Watch::learn(TypeId component) {
  if (!asked_.every_component || std::ranges::binary_search(asked_.components, component)) return;
  asked_.components.insert(std::ranges::upper_bound(asked_.components, component), component);
  changes_.want(component);
  mark_members({&component, 1}, false);
}

void Watch::mark_members(std::span<const TypeId> components, bool structure) {
  if (asked_.world) return mark_everyone(components, structure);
  members().each(Marking(*this, components, structure));
}

/// Nil: the roots.
template <class F>
void Watch::each_child(Entity node, F&& f) const {
  if (node) {
    for (Entity child = registry_.first_child(node); child; child = registry_.next_sibling(child)) f(child);
    return;
  }
  for (const auto& archetype : registry_.storage().archetypes()) {
    if (!archetype || archetype->groups.empty()) continue;
    for (const Chunk* chunk : archetype->groups.front().chunks)
      for (std::uint32_t row = 0; row < chunk->count; ++row) f(chunk->ids()[row]);
  }
}

bool Watch::passes(const Archetype& archetype) const {
  const auto has = [&](TypeId component) { return archetype.has(component); };
  return std::ranges::all_of(asked_.with, has) && std::ranges::none_of(asked_.without, has);
}

bool Watch::passes(Entity e) const {
  const Row row = registry_.storage().find(e);
  return row && passes(*row.chunk->archetype);
}

/// Calls f(chunk) for all chunks with the right components.
template <class F>
void Watch::each_of_world(F&& f) const {
  for (const auto& archetype : registry_.storage().archetypes())
    if (archetype && archetype->chunks > 0 && passes(*archetype)) each_chunk_of(*archetype, f);
}

void Watch::mark(Entity e, std::span<const TypeId> components, bool structure) {
  for (const TypeId component : components)
    if (registry_.find(e, component)) values_[component].push_back(e);
  if (structure) structure_.push_back(e);
}

void Watch::mark_everyone(std::span<const TypeId> components, bool structure) {
  Marking mark(*this, components, structure);
  const Archetype* last = nullptr;
  bool right = false;
  each_by_index(registry_, [&](Entity e, const Archetype& archetype) {
    if (&archetype != std::exchange(last, &archetype)) right = passes(archetype);
    if (right) mark(e, archetype);
  });
}

void Watch::leave(Entity e) { gone_.push_back(e); }

// --- what changed

void Watch::catch_up() {
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
  for (const TypeId component : asked_.components) {
    std::vector<Entity>& pending = values_[component];
    sort_unique(pending);
    const std::size_t before = pending.size();
    recent_.each(component, since, [&](Entity e) {
      if (concerns(e)) pending.push_back(e);
    });
    if (before > 0 && pending.size() > before) merge_unique(pending, before);
    if (pending.empty()) values_.erase(component);
  }
}

void Watch::catch_up_members(std::uint64_t since) {
  if (is_of_everyone()) return;
  if (recent_.structure_changed() > since) {
    std::vector<std::pair<std::uint32_t, Entity>> living;  // parents first: a member's children are members by it
    recent_.each_structure(since, [&](Entity e) {
      if (registry_.alive(e)) {
        if (!asked_.world) living.emplace_back(registry_.depth(e), e);
        return;
      }
      named_.erase(e);
      const bool was_inside = scope_.erase(e);
      if (filtered_ ? shown_.erase(e) : was_inside) leave(e);
    });
    std::ranges::sort(living);
    for (const auto& [depth, e] : living) flip(e, is_inside(e));
  }
  if (filtered_) recent_.each_kind(since, [&](Entity e) { reconsider(e); });
}

bool Watch::is_inside(Entity e) const {
  return named_.contains(e) || (asked_.subtree && scope_.contains(registry_.parent(e)));
}

/// With everyone below, as far as that makes a difference to them.
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

void Watch::catch_up_rows(std::uint64_t since) {
  const std::size_t before = rows_.size();
  const auto note = [&](Entity e) {
    if (registry_.alive(e)) {
      if (open_.contains(registry_.parent(e)) || listed_.find(e)) rows_.push_back(e);
      return;
    }
    if (open_.erase(e) > 0) gone_.push_back(e);
    if (listed_.find(e)) rows_.push_back(e);
  };
  recent_.each_structure(since, note);
  recent_.each_kind(since, note);
  recent_.each_link(since, note);
  recent_.each(TypeTraits<Name>::id, since, note);
  if (rows_.size() > before) sort_unique(rows_);
}

}  // namespace muster
