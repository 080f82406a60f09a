// The naive model's ids, rows, names and texts, and what its handlers may say.
#include <algorithm>
#include <utility>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"

namespace naive {

Entity Model::peek_id() const {
  if (free_queue.size() > 1024) return {free_queue.front(), generations[free_queue.front()]};
  return {static_cast<std::uint32_t>(generations.size()), 1};
}

Entity Model::reserve() {
  const Entity made = peek_id();
  if (made.index == generations.size()) {
    generations.push_back(1);
    states.push_back(IdState::free);
  } else {
    free_queue.pop_front();
    ++covered["id reused"];
  }
  states[made.index] = IdState::reserved;
  return made;
}

void Model::release(Entity e) {
  if (generations[e.index] == 0xfffffffeu) {
    generations[e.index] = 0;
    ++retired;
    ++covered["id retired"];
    return;
  }
  ++generations[e.index];
  free_queue.push_back(e.index);
}

bool Model::in_state(Entity e, IdState state) const {
  return e.index < generations.size() && e.generation != 0 && generations[e.index] == e.generation &&
         states[e.index] == state;
}

bool Model::alive(Entity e) const { return things_.contains(e); }

const Thing* Model::find(Entity e) const {
  const auto at = things_.find(e);
  return at == things_.end() ? nullptr : &at->second;
}

// --- rows ---

std::uint32_t Model::archetype_of(const std::set<TypeId>& types) {
  const auto at = std::ranges::find(archetypes, types);
  if (at != archetypes.end()) return static_cast<std::uint32_t>(at - archetypes.begin());
  archetypes.push_back(types);
  return static_cast<std::uint32_t>(archetypes.size() - 1);
}

/// The last row of the group fills the hole.
void Model::take_row(Entity e, const Thing& thing) {
  auto& group = rows[{thing.depth, thing.archetype}];
  *std::ranges::find(group, e) = group.back();
  group.pop_back();
  if (group.empty()) rows.erase({thing.depth, thing.archetype});
}

void Model::put_row(Entity e, Thing& thing) { rows[{thing.depth, thing.archetype}].push_back(e); }

void Model::move(Entity e, std::uint32_t depth) {
  Thing& thing = things_.at(e);
  take_row(e, thing);
  thing.depth = depth;
  put_row(e, thing);
}

Bytes Model::stored(TypeId component, const Bytes& value, const Bytes* old) const {
  const KnownType& type = types_.at(component);
  if (type.runtime) return old ? *old : bytes_of(TwoValues{});
  return type.tag ? Bytes() : value;
}

void Model::renew(TypeId runtime, bool first, const std::function<std::uint64_t(Entity)>& value) {
  for (auto& [e, thing] : things_) {
    const auto at = thing.components.find(runtime);
    if (at == thing.components.end()) continue;
    auto two = as<TwoValues>(at->second);
    if (first) two.first = value(e);
    two.loaded = value(e);
    at->second = bytes_of(two);
    ++covered[first ? "runtime component: forgotten and known again" : "runtime component: restored by a load"];
  }
}

std::vector<Entity> Model::row_order() const {
  std::vector<Entity> order;
  for (const auto& [place, group] : rows) order.insert(order.end(), group.begin(), group.end());
  return order;
}

std::vector<Entity> Model::ancestors(Entity e) const {
  std::vector<Entity> up;
  for (Entity at = things_.at(e).parent; at; at = things_.at(at).parent) up.push_back(at);
  return up;
}

std::vector<Entity> Model::below(Entity e) const {
  std::vector<Entity> all{e};
  for (const Entity child : things_.at(e).children) {
    const std::vector<Entity> more = below(child);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// --- names and texts ---

Text Model::keep_text(std::string_view text) {
  if (text.empty()) return {};
  const Text hash = text_of(text);
  if (text_by_hash_.emplace(hash.hash, text).second) texts.emplace_back(text);
  return hash;
}

bool Model::knows(Text text) const { return !text || text_by_hash_.contains(text.hash); }

std::string Model::text(Text text) const {
  const auto at = text_by_hash_.find(text.hash);
  return at == text_by_hash_.end() ? std::string() : at->second;
}

Text Model::name_of(Entity e) const {
  const Thing* thing = find(e);
  if (!thing) return {};
  const auto name = thing->components.find(name_type);
  return name == thing->components.end() ? Text{} : as<muster::Name>(name->second).text;
}

Entity Model::find_child(Entity parent, Text name) const {
  if (!name) return {};
  if (parent) {
    const Thing* thing = find(parent);
    if (!thing) return {};
    for (const Entity child : thing->children)
      if (name_of(child) == name) return child;
    return {};
  }
  for (const auto& [place, group] : rows)
    if (place.first == 0 && archetypes[place.second].contains(name_type))
      for (const Entity e : group)
        if (name_of(e) == name) return e;
  return {};
}

Text Model::free_name(Entity parent, Text name) {
  if (!find_child(parent, name)) return name;
  for (int suffix = 2;; ++suffix) {
    const std::string candidate = text(name) + "~" + std::to_string(suffix);
    if (!find_child(parent, Text{muster::hash64(candidate)})) return keep_text(candidate);
  }
}

std::string Model::path(Entity e) const {
  if (!alive(e)) return {};
  std::string shown;
  for (const char c : text(name_of(e))) {
    if (c == '/' || c == '\\') shown += '\\';
    shown += c;
  }
  if (shown.empty()) shown = "#" + std::to_string(e.index) + ":" + std::to_string(e.generation);
  return path(things_.at(e).parent) + "/" + shown;
}

}  // namespace naive
