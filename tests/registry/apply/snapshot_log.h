// A log for tests of Steps: it remembers the whole world when a Step begins.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/row_set.h"
#include "registry/apply/edit_log.h"
#include "registry/host.h"

namespace test {

/// What users see of a world: entities with their places, names and values, and templates. Contains
/// neither the order of rows nor archetypes.
struct Contents {
  struct Thing {
    muster::Entity parent;
    muster::Text name;
    std::map<muster::TypeId, std::vector<std::byte>> values;
    std::vector<muster::Entity> children;
    bool operator==(const Thing&) const = default;
  };
  std::map<muster::Entity, Thing> things;
  std::map<std::string, std::vector<std::byte>, std::less<>> templates;
  bool operator==(const Contents&) const = default;
};

inline Contents contents_of(const muster::EntityRegistry& registry) {
  using namespace muster;
  Contents all;
  const Storage& storage = registry.host().storage();
  const Hierarchy& hierarchy = registry.host().hierarchy();
  for (const auto& archetype : storage.archetypes())
    for (const Group& group : archetype->groups)
      for (Chunk* chunk : group.chunks)
        for (std::uint32_t number = 0; number < chunk->count; ++number) {
          const Row row{chunk, number};
          const Entity e = chunk->ids()[number];
          Contents::Thing& thing = all.things[e];
          thing.parent = hierarchy.parent(e);
          thing.name = hierarchy.name(e);
          for (Entity child = hierarchy.first_child(e); child; child = hierarchy.next_sibling(child))
            thing.children.push_back(child);
          for (const TypeId type : archetype->types) {
            if (type == TypeTraits<Name>::id || !row.has(type)) continue;
            std::vector<std::byte>& value = thing.values[type];
            const std::uint16_t slot = archetype->column(type);
            if (slot >= archetype->pod_slots) continue;
            const std::uint32_t size = archetype->slot_bytes[slot];
            value.assign(row.at(slot, size), row.at(slot, size) + size);
          }
        }
  for (const std::string_view name : registry.host().template_names()) {
    const auto batch = registry.host().template_batch(name);
    all.templates[std::string(name)] = {batch.begin(), batch.end()};
  }
  return all;
}

/// The states of all ids, and the queue of free ones. Says only of an id that has a row that it has
/// one.
inline std::vector<std::uint64_t> ids_of(const muster::EntityRegistry& registry) {
  using namespace muster;
  std::vector<std::uint64_t> all;
  const Storage::Ids& ids = registry.host().storage().ids();
  for (std::uint32_t i = 0; i < ids.indices(); ++i) {
    const DirectoryEntry& entry = ids.slot(i);
    all.push_back(std::uint64_t{entry.generation} << 32 |
                  (entry.locator.has_row() ? 100 : static_cast<std::uint32_t>(entry.locator.state())));
  }
  for (std::size_t i = 0; i < ids.free_queue().size(); ++i) all.push_back(ids.free_queue()[i]);
  return all;
}

/// While it exists, it is the registry's log.
class SnapshotLog : public muster::EditLog {
 public:
  explicit SnapshotLog(muster::EntityRegistry& registry) : registry_(registry) { registry.host().set_edit_log(this); }
  ~SnapshotLog() override { registry_.host().set_edit_log(nullptr); }
  SnapshotLog(const SnapshotLog&) = delete;
  SnapshotLog& operator=(const SnapshotLog&) = delete;

  /// What happened, such as "begin 1 edit edit refused back end 0 ".
  std::string text;

  void before(const muster::Edit&) override {}
  void after(const muster::Edit&, const muster::Refusal& refusal) override {
    text += refusal.code == muster::RefusalCode::none ? "edit " : "refused ";
  }
  void step_begins(const muster::Editor& by, const muster::StepView& step) override {
    CHECK(by.sequence == registry_.sequence());
    text += "begin " + std::string(step.label()) + " ";
    then_ = contents_of(registry_);
  }
  std::span<const std::byte> take_back() override {
    text += "back ";
    write();
    return out_.bytes();
  }
  void step_ends(bool applied) override { text += applied ? "end 1 " : "end 0 "; }

 private:
  void write() {
    using namespace muster;
    out_.clear();
    const Contents now = contents_of(registry_);
    const auto was = [&](Entity e) { return then_.things.contains(e); };
    for (const auto& [e, thing] : now.things) {
      if (!was(e)) continue;
      if (thing.name) out_.append(e, Rename{});
      if (thing.parent) out_.append(e, Reparent{});
    }
    for (const auto& [e, thing] : now.things)
      if (!was(e) && (!thing.parent || was(thing.parent))) out_.append(e, Destroy{});
    for (const auto& [e, thing] : then_.things) {
      const auto at = now.things.find(e);
      const bool lives = at != now.things.end();
      if (!lives) out_.append(e, Create{});
      if (lives)
        for (const auto& [type, value] : at->second.values)
          if (!thing.values.contains(type)) out_.append(e, Remove{.component = type});
      if (!thing.values.empty() && (!lives || at->second.values != thing.values)) set(e, thing);
    }
    for (const auto& [e, thing] : then_.things)
      for (const Entity child : thing.children) out_.append(child, Reparent{.parent = e});
    for (const auto& [e, thing] : then_.things)
      if (thing.name) out_.append(e, Rename{.name = thing.name});
    for (const auto& [name, batch] : now.templates)
      if (!then_.templates.contains(name))
        out_.append_table(TypeTraits<DefineTemplate>::id, {}, encode(DefineTemplate{.name = name}));
    for (const auto& [name, batch] : then_.templates)
      if (const auto at = now.templates.find(name); at == now.templates.end() || at->second != batch)
        out_.append_batch(BatchView(batch));
  }
  void set(muster::Entity e, const Contents::Thing& thing) {
    using namespace muster;
    std::vector<const TypeDescriptor*> types;
    for (const auto& [type, value] : thing.values) types.push_back(registry_.types().find(type));
    const RowSet rows(*registry_.types().find(TypeTraits<Set>::id), types);
    std::byte* const payload = out_.append_rows(rows, e);
    std::memset(payload, 0, rows.shape().bytes);
    for (const auto& [type, value] : thing.values)
      if (!value.empty()) std::memcpy(payload + rows.offset(type), value.data(), value.size());
  }

  muster::EntityRegistry& registry_;
  Contents then_;
  muster::BatchBuilder out_;
};

/// A Step with these batches.
inline muster::Step step_of(muster::BatchBuilder& batches, std::string label = {},
                            muster::StepAct act = muster::StepAct::edit) {
  const auto bytes = batches.bytes();
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {.batches = {first, first + bytes.size()}, .label = std::move(label), .act = act};
}
/// Pushes a Step as the session 1 of user 10 does.
inline muster::Receipt push_step(muster::EntityRegistry& registry, const muster::Step& step) {
  registry.add_type<muster::Step>();
  muster::BatchBuilder batch;
  batch.append_table(muster::TypeTraits<muster::Step>::id, {}, encode(step));
  return registry.host().push_batch(batch.bytes(), 1, 1, 10);
}

}  // namespace test
