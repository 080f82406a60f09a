// A registry with a history, and users who edit it.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/step_batches.h"
#include "registry/history/edit_history.h"
#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/registry/enableable.h"
#include "tests/registry/game.h"

namespace muster::history_test {

using game::Armor, game::Count, game::Frozen, game::Health, game::Member, game::Position, game::Slots;

/// All entities with their ids, parents, names, values, and order of children, and all templates.
/// References to entities that are not alive count as nil.
inline std::string contents(const EntityRegistry& registry) {
  const RegistryReader host = registry.host();
  const Storage& storage = host.storage();
  std::vector<Entity> all;
  for (const auto& archetype : storage.archetypes())
    for (const Group& group : archetype->groups)
      for (const Chunk* chunk : group.chunks) all.insert(all.end(), chunk->ids(), chunk->ids() + chunk->count);
  std::ranges::sort(all);
  std::string text;
  const auto put = [&](std::uint64_t number) { text += std::to_string(number) + " "; };
  for (const Entity e : all) {
    put(e.bits());
    put(host.hierarchy().parent(e).bits());
    text += "'" + std::string(registry.text(host.hierarchy().name(e))) + "' [";
    for (Entity child = host.hierarchy().first_child(e); child; child = host.hierarchy().next_sibling(child))
      put(child.bits());
    text += "]";
    const Row row = storage.find(e);
    std::vector<TypeId> room;
    for (const TypeId type : types_of(row, room)) {
      const StoredType& stored = *storage.component(type);
      const std::uint16_t column = row.chunk->archetype->column(type);
      text += " " + stored.descriptor->name + " ";
      if (column >= row.chunk->archetype->pod_slots) continue;
      std::string bytes(reinterpret_cast<const char*>(row.at(column, stored.size)), stored.size);
      for (const std::uint32_t at : stored.descriptor->entity_offsets) {
        Entity to;
        std::memcpy(&to, bytes.data() + at, sizeof to);
        if (!storage.alive(to)) bytes.replace(at, sizeof to, sizeof to, '\0');
      }
      put(hash64(bytes));
    }
    text += "\n";
  }
  for (const std::string_view name : host.template_names()) {
    const std::span<const std::byte> batch = host.template_batch(name);
    text += std::string(name) + " ";
    put(hash64({reinterpret_cast<const char*>(batch.data()), batch.size()}));
    text += "\n";
  }
  return text;
}

struct Editors {
  explicit Editors(std::uint64_t bytes_max = 256u << 20) : history(registry, bytes_max) {
    registry.add_type<Health>();
    registry.add_type<Armor>();
    registry.add_type<Count>();
    registry.add_type<Frozen>();
    registry.add_type<Member>();
    registry.add_type<Position>();
    registry.add_type<Slots>();
    registry.add_type<ward::Shield>();
    registry.add_type<ward::Stunned>();
    const Entity first = registry.host().grant(100'000, 1);
    for (std::uint32_t i = 0; i < 100'000; ++i) free.push_back({first.index + i, 1});
    std::ranges::reverse(free);
  }

  /// Returns a new id that sessions may create.
  Entity take() {
    const Entity e = free.back();
    free.pop_back();
    return e;
  }
  std::vector<Entity> take(std::size_t count) {
    std::vector<Entity> made;
    while (made.size() < count) made.push_back(take());
    return made;
  }
  Sender by(std::uint64_t user) { return {.session = 100 + user, .user = user, .request = ++request}; }
  Receipt push(std::uint64_t user, BatchBuilder& batch) {
    const Sender editor = by(user);
    return registry.host().push_batch(batch.bytes(), editor);
  }
  template <class M>
  Receipt edit(std::uint64_t user, Entity e, const M& message) {
    BatchBuilder batch;
    batch.append(e, message);
    return push(user, batch);
  }
  template <class... Cs>
  Receipt set(std::uint64_t user, Entity e, const Cs&... components) {
    BatchBuilder batch;
    batch.append_rows(e, Set{}, components...);
    return push(user, batch);
  }
  template <class... Cs>
  Entity create(std::uint64_t user, Entity parent, std::string_view name, const Cs&... components) {
    const Entity e = take();
    BatchBuilder batch;
    batch.append_rows(e, Create{.parent = parent, .name = registry.intern(name)}, components...);
    push(user, batch);
    return e;
  }
  Receipt define(std::uint64_t user, const TemplateTree& tree) {
    BatchBuilder batch;
    batch.append_table(TypeTraits<DefineTemplate>::id, {}, encode(*tree.compile()));
    return push(user, batch);
  }
  Receipt step(std::uint64_t user, BatchBuilder& edits, std::uint64_t gesture = 0, std::string label = {}) {
    const muster::Step step{.batches = step_bytes(edits.bytes()), .label = std::move(label), .gesture = gesture};
    BatchBuilder batch;
    batch.append_table(TypeTraits<muster::Step>::id, {}, encode(step));
    return push(user, batch);
  }
  UndoReport undo(std::uint64_t user, Conflicts conflicts = Conflicts::skip) {
    return history.apply(HistoryAct::undo, by(user), conflicts, false);
  }
  UndoReport redo(std::uint64_t user, Conflicts conflicts = Conflicts::skip) {
    return history.apply(HistoryAct::redo, by(user), conflicts, false);
  }
  std::string contents() const { return history_test::contents(registry); }
  std::string name(Entity e) const { return std::string(registry.text(registry.host().hierarchy().name(e))); }
  Entity parent(Entity e) const { return registry.host().hierarchy().parent(e); }
  std::vector<Entity> children(Entity e) const {
    std::vector<Entity> all;
    const Hierarchy& hierarchy = registry.host().hierarchy();
    for (Entity child = hierarchy.first_child(e); child; child = hierarchy.next_sibling(child)) all.push_back(child);
    return all;
  }
  template <class C>
  C get(Entity e) const {
    return registry.get<C>(e);
  }

  EntityRegistry registry;
  EditHistory history;
  std::vector<Entity> free;
  std::uint64_t request = 0;
};

}  // namespace muster::history_test
