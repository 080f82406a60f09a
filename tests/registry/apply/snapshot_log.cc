#include "tests/registry/apply/snapshot_log.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "messages/row_set.h"
#include "schema/table.h"

namespace test {

using namespace muster;

Contents contents_of(const EntityRegistry& registry) {
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

std::vector<std::uint64_t> ids_of(const EntityRegistry& registry) {
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

void SnapshotLog::write() {
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
void SnapshotLog::set(Entity e, const Contents::Thing& thing) {
  std::vector<const TypeDescriptor*> types;
  for (const auto& [type, value] : thing.values) types.push_back(registry_.types().find(type));
  const RowSet rows(*registry_.types().find(TypeTraits<Set>::id), types);
  std::byte* const payload = out_.append_rows(rows, e);
  std::memset(payload, 0, rows.shape().bytes);
  for (const auto& [type, value] : thing.values)
    if (!value.empty()) std::memcpy(payload + rows.offset(type), value.data(), value.size());
}

}  // namespace test
