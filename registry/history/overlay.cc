#include "registry/history/overlay.h"

#include <algorithm>

namespace muster::history {

Overlay::Links Overlay::links(Entity e) const {
  if (!links_.empty())
    if (const auto at = links_.find(e.bits()); at != links_.end()) return at->second;
  if (!now_.alive(e)) return {};
  const Place place = now_.place(e);
  return {true, place.parent, place.next, place.previous, now_.hierarchy().first_child(e), now_.last_child(e)};
}

Overlay::Links& Overlay::change(Entity e) {
  if (const auto at = links_.find(e.bits()); at != links_.end()) return at->second;
  return links_.emplace(e.bits(), links(e)).first->second;
}

bool Overlay::alive(Entity e) const {
  if (sight_ && !revived_.contains(e.bits()) && !sight_->sees(e)) return false;
  if (!links_.empty())
    if (const auto at = links_.find(e.bits()); at != links_.end()) return at->second.alive;
  return now_.alive(e);
}

Entity Overlay::parent(Entity e) const { return links(e).parent; }

Place Overlay::place(Entity e) const {
  const Links of = links(e);
  if (!sight_) return {of.parent, of.next, of.previous};
  return {of.parent, seen_from(of.next), seen_back_from(of.previous)};
}

Entity Overlay::first_child(Entity e) const { return seen_from(links(e).first); }

Entity Overlay::seen_from(Entity sibling) const {
  while (sight_ && sibling && !alive(sibling)) sibling = links(sibling).next;
  return sibling;
}

Entity Overlay::seen_back_from(Entity sibling) const {
  while (sight_ && sibling && !alive(sibling)) sibling = links(sibling).previous;
  return sibling;
}

bool Overlay::is_below(Entity e, Entity top) const {
  while (e && e != top) e = parent(e);
  return e == top;
}

std::string_view Overlay::name(Entity e) const {
  if (const auto at = names_.find(e.bits()); at != names_.end()) return at->second;
  return now_.alive(e) ? now_.name(e) : std::string_view{};
}

Entity Overlay::child(Entity parent, std::string_view name) const {
  if (const auto at = children_.find({parent.bits(), text_of(name).hash}); at != children_.end()) return at->second;
  return parent && !now_.alive(parent) ? Entity{} : now_.child(parent, name);
}

std::optional<std::span<const std::byte>> Overlay::value(Entity e, TypeId component) const {
  if (!values_.empty())
    if (const auto at = values_.find({e.bits(), component}); at != values_.end()) {
      if (!at->second) return {};
      return bytes_of(*at->second);
    }
  const auto at = revived_.find(e.bits());
  if (at == revived_.end()) return now_.value(e, component);
  const Snapshot& snapshot = *at->second.snapshot;
  const Snapshot::Row& row = snapshot.rows[at->second.row];
  std::size_t offset = row.at;
  for (const Layout& layout : snapshot.shapes[row.shape].components) {
    if (layout.type == component) return std::span(snapshot.values).subspan(offset, layout.bytes);
    offset += layout.bytes;
  }
  return {};
}

void Overlay::put_name(Entity parent, std::string_view name, Entity e) {
  if (!name.empty()) children_[{parent.bits(), text_of(name).hash}] = e;
}

void Overlay::unlink(Entity e) {
  const Links of = links(e);
  if (!of.parent) return;
  (of.previous ? change(of.previous).next : change(of.parent).first) = of.next;
  (of.next ? change(of.next).previous : change(of.parent).last) = of.previous;
}

void Overlay::link(Entity e, Entity parent, Entity before) {
  Entity previous;
  if (parent) {
    previous = before ? links(before).previous : links(parent).last;
    (previous ? change(previous).next : change(parent).first) = e;
    (before ? change(before).previous : change(parent).last) = e;
  }
  Links& of = change(e);
  of.alive = true;
  of.parent = parent;
  of.next = parent ? before : Entity{};
  of.previous = previous;
}

void Overlay::move(Entity e, Entity parent, Entity before) {
  const std::string name(this->name(e));
  put_name(this->parent(e), name, {});
  unlink(e);
  link(e, parent, before);
  put_name(parent, name, e);
}

void Overlay::rename(Entity e, std::string_view name) {
  const std::string wanted(name);
  put_name(parent(e), this->name(e), {});
  names_[e.bits()] = wanted;
  put_name(parent(e), wanted, e);
}

void Overlay::put(Entity e, TypeId component, std::span<const std::byte> value) {
  values_[{e.bits(), component}] = std::string(view_of(value));
}

void Overlay::write(Entity e, TypeId component, std::uint32_t offset, std::string_view bytes) {
  auto at = values_.find({e.bits(), component});
  if (at == values_.end()) at = values_.emplace(ValueKey{e.bits(), component}, view_of(*value(e, component))).first;
  at->second->replace(offset, bytes.size(), bytes);
}

void Overlay::remove(Entity e, TypeId component) { values_[{e.bits(), component}].reset(); }

void Overlay::destroy(Entity e) {
  put_name(parent(e), name(e), {});
  unlink(e);
  std::vector<Entity> all;
  subtree(e, [&](Entity below) {
    all.push_back(below);
    return true;
  });
  for (const Entity below : all) {
    links_[below.bits()] = {};
    if (revived_.erase(below.bits()) != 0) names_.erase(below.bits());
  }
}

void Overlay::revive(const Snapshot& snapshot, Entity parent, Entity before, std::string_view name) {
  for (std::uint32_t i = 0; i < snapshot.rows.size(); ++i) {
    const Snapshot::Row& row = snapshot.rows[i];
    links_[row.entity.bits()] = {};
    revived_[row.entity.bits()] = {&snapshot, i};
    link(row.entity, i == 0 ? parent : snapshot.rows[row.parent].entity, i == 0 ? before : Entity{});
  }
  std::unordered_map<std::uint64_t, std::string_view> texts;
  for (const std::string& text : snapshot.texts) texts.emplace(text_of(text).hash, text);
  for (std::uint32_t i = 0; i < snapshot.rows.size(); ++i) {
    const Snapshot::Row& row = snapshot.rows[i];
    std::string_view own = name;
    if (i != 0) {
      const auto at = texts.find(row.name.hash);
      own = at == texts.end() ? std::string_view{} : at->second;
    }
    names_[row.entity.bits()] = own;
    put_name(i == 0 ? parent : snapshot.rows[row.parent].entity, own, row.entity);
  }
}

}  // namespace muster::history
