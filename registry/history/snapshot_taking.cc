#include "registry/history/snapshot_taking.h"

#include <cstring>
#include <utility>

#include "registry/history/held_data.h"
#include "registry/history/recording.h"

namespace muster::history {

namespace {

/// The siblings of targets, without the targets that are already destroyed. A chain of destroyed
/// siblings is skipped at once: each end of a chain knows the other one.
class Siblings {
 public:
  explicit Siblings(const RowsNow& now) noexcept : now_(now) {}

  bool gone(Entity e) const { return gone_.contains(e.bits()); }
  /// Returns the place of `e` among the siblings that are left.
  Place place(Entity e) const {
    Place place = now_.place(e);
    if (const auto at = next_.find(place.next.bits()); at != next_.end()) place.next = at->second;
    if (const auto at = previous_.find(place.previous.bits()); at != previous_.end()) place.previous = at->second;
    return place;
  }
  /// Must be called for all entities of a destroyed subtree; `place` is that of its root.
  void destroyed(Entity top, const Place& place, const Snapshot& snapshot) {
    for (const Snapshot::Row& row : snapshot.rows) gone_.insert(row.entity.bits());
    // The first entity of the chain of destroyed siblings is after place.previous, the last one
    // before place.next.
    const Entity first = place.previous ? now_.hierarchy().next_sibling(place.previous) : first_of(place, top);
    const Entity last = place.next ? now_.previous(place.next) : last_of(place, top);
    next_[first.bits()] = place.next;
    previous_[last.bits()] = place.previous;
  }

 private:
  Entity first_of(const Place& place, Entity top) const {
    return place.parent ? now_.hierarchy().first_child(place.parent) : top;
  }
  Entity last_of(const Place& place, Entity top) const { return place.parent ? now_.last_child(place.parent) : top; }

  const RowsNow& now_;
  std::unordered_set<std::uint64_t> gone_;
  // For the first entity of a chain, the sibling after the chain; for the last one, the sibling
  // before it.
  std::unordered_map<std::uint64_t, Entity> next_, previous_;
};

/// The shapes of a snapshot, found by the archetype of a row.
class Shapes {
 public:
  struct Copy {
    std::uint16_t slot;
    std::uint32_t bytes;
    std::vector<std::uint32_t> texts;  // offsets
  };
  struct Known {
    std::uint32_t number;
    std::vector<Copy> copies;
    std::uint16_t name = no_column;
  };
  Shapes(const RowsNow& now, Snapshot& snapshot) noexcept : now_(now), snapshot_(snapshot) {}
  const Known& of(Row row) {
    const Archetype& archetype = *row.chunk->archetype;
    if (!archetype.enableable) {
      if (last_ && last_archetype_ == &archetype) return *last_;
      last_archetype_ = &archetype;
      const auto [at, fresh] = known_.try_emplace(&archetype);
      if (fresh) at->second = make(row);
      last_ = &at->second;
      return *last_;
    }
    const std::span<const TypeId> types = types_of(row, room_);
    for (Known& known : enabled_[&archetype])
      if (same(snapshot_.shapes[known.number], types)) return known;
    return enabled_[&archetype].emplace_back(make(row));
  }

 private:
  static bool kept(TypeId type) noexcept { return type != TypeTraits<Name>::id && type != TypeTraits<ChildOf>::id; }
  static bool same(const Snapshot::Shape& shape, std::span<const TypeId> types) noexcept {
    std::size_t i = 0;
    for (const TypeId type : types) {
      if (!kept(type)) continue;
      if (i == shape.components.size() || shape.components[i].type != type) return false;
      ++i;
    }
    return i == shape.components.size();
  }
  Known make(Row row) {
    Known made;
    made.number = static_cast<std::uint32_t>(snapshot_.shapes.size());
    const Archetype& archetype = *row.chunk->archetype;
    made.name = archetype.name_column;
    Snapshot::Shape shape;
    std::vector<TypeId> room;
    for (const TypeId type : types_of(row, room)) {
      if (!kept(type)) continue;
      const StoredType* const stored = now_.storage().component(type);
      const std::uint16_t slot = archetype.column(type);
      const std::uint32_t bytes = slot < archetype.pod_slots ? stored->size : 0;
      shape.components.push_back({type, bytes, stored->descriptor->fingerprint});
      if (bytes != 0) made.copies.push_back({slot, bytes, stored->descriptor->text_offsets});
      shape.bytes += bytes;
    }
    snapshot_.shapes.push_back(std::move(shape));
    return made;
  }

  const RowsNow& now_;
  Snapshot& snapshot_;
  std::unordered_map<const Archetype*, Known> known_;
  std::unordered_map<const Archetype*, std::vector<Known>> enabled_;
  const Archetype* last_archetype_ = nullptr;
  const Known* last_ = nullptr;
  std::vector<TypeId> room_;
};

void take(const RowsNow& now, std::span<const Entity> subtree, const Siblings& siblings, Snapshot& snapshot) {
  Shapes shapes(now, snapshot);
  std::unordered_set<std::uint64_t> texts;
  const auto keep_text = [&](Text text) {
    if (!text || !texts.insert(text.hash).second) return;
    if (const std::string_view bytes = now.text(text); !bytes.empty()) snapshot.texts.emplace_back(bytes);
  };
  std::vector<std::uint32_t> path;  // the row's ancestors in the snapshot
  snapshot.rows.reserve(subtree.size());
  for (const Entity e : subtree) {
    if (siblings.gone(e)) continue;
    const Row row = now.storage().find(e);
    Snapshot::Row made{.entity = e};
    if (!path.empty()) {
      const Entity parent = row.chunk->parents()[row.row];
      while (snapshot.rows[path.back()].entity != parent) path.pop_back();
      made.parent = path.back();
    }
    path.push_back(static_cast<std::uint32_t>(snapshot.rows.size()));
    const Shapes::Known& shape = shapes.of(row);
    made.shape = shape.number;
    made.at = snapshot.values.size();
    if (shape.name != no_column) {
      std::memcpy(&made.name, row.at(shape.name, sizeof(Name)), sizeof made.name);
      keep_text(made.name);
    }
    for (const Shapes::Copy& copy : shape.copies) {
      const std::byte* const value = row.at(copy.slot, copy.bytes);
      snapshot.values.insert(snapshot.values.end(), value, value + copy.bytes);
      for (const std::uint32_t offset : copy.texts) {
        Text text;
        std::memcpy(&text, value + offset, sizeof text);
        keep_text(text);
      }
    }
    snapshot.rows.push_back(made);
  }
}

}  // namespace

std::vector<Part> destroyed_parts(const RowsNow& now, std::span<const Entity> targets) {
  std::vector<Part> parts;
  Siblings siblings(now);
  std::vector<Entity> subtree;
  for (const Entity target : targets) {
    if (!now.alive(target) || siblings.gone(target)) continue;
    Part part{.kind = PartKind::destroyed, .entity = target};
    part.details = std::make_unique<Details>();
    part.details->before = siblings.place(target);
    part.details->ancestors = ancestors_of(now, part.details->before.parent);
    subtree.clear();
    now.hierarchy().subtree(target, subtree);
    take(now, subtree, siblings, part.details->snapshot);
    part.details->snapshot.values.shrink_to_fit();
    part.details->held = held_data(now, part.details->snapshot);
    if (targets.size() > 1) siblings.destroyed(target, part.details->before, part.details->snapshot);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace muster::history
