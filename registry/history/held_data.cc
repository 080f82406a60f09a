#include "registry/history/held_data.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/require.h"
#include "registry/handlers/builtin_messages.h"

namespace muster {

namespace {

bool can_be_held(const BatchView& batch) noexcept {
  return !is_builtin(batch.type()) && (batch.kind() == BatchKind::each || batch.kind() == BatchKind::table);
}

template <class F>
void each_held_target(const BatchView& batch, F f) {
  const std::byte* at = batch.body();
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    if (batch.kind() != BatchKind::table) {
      f(batch.target(i));
      continue;
    }
    const TableItem item = table_item(batch, at);
    f(item.target);
    at = item.next;
  }
}

}  // namespace

std::vector<LostData> lost_if_destroyed(const EntityRegistry& registry, std::span<const Entity> targets) {
  const RegistryReader host = registry.host();
  std::map<std::string, std::uint32_t, std::less<>> lost;
  if (host.has_managers()) {
    std::vector<Entity> all;
    for (const Entity target : targets)
      if (registry.alive(target)) host.hierarchy().subtree(target, all);
    std::ranges::sort(all);
    const auto doubles = std::ranges::unique(all);
    all.erase(doubles.begin(), doubles.end());
    BatchBuilder saved;
    for (const Entity e : all) {
      host.save_held(e, saved,
                     [&](std::string_view manager) { ++lost.try_emplace(std::string(manager)).first->second; });
      saved.clear();
    }
  }
  std::vector<LostData> sorted;
  for (const auto& [manager, entities] : lost) sorted.push_back({manager, entities});
  return sorted;
}

namespace history {

HeldData held_data(const RowsNow& now, Snapshot& snapshot) {
  HeldData held;
  if (!now.host().has_managers()) return held;
  BatchBuilder messages;
  for (const Snapshot::Row& row : snapshot.rows) {
    now.host().save_held(row.entity, messages, [&](std::string_view manager) {
      if (std::ranges::find(held.lost, manager) == held.lost.end()) held.lost.emplace_back(manager);
    });
  }
  std::ranges::sort(held.lost);
  const std::span<const std::byte> bytes = messages.bytes();
  require(are_held_messages(bytes, snapshot, now.types()),
          "Manager::save_entity: a message is not one that handlers receive, or has another target");
  std::unordered_set<std::uint64_t> texts;
  for_each_batch(bytes, [&](const BatchView& batch) {
    const TypeDescriptor& type = *now.types().find(batch.type());
    if (std::ranges::find(held.types, type.id, &Layout::type) == held.types.end())
      held.types.push_back({type.id, type.size, type.fingerprint});
    if (batch.kind() == BatchKind::table) return;
    for (std::uint32_t i = 0; i < batch.count(); ++i)
      for (const std::uint32_t offset : type.text_offsets) {
        Text text;
        std::memcpy(&text, batch.payload(i) + offset, sizeof text);
        if (!text || !texts.insert(text.hash).second) continue;
        if (const std::string_view known = now.text(text); !known.empty()) snapshot.texts.emplace_back(known);
      }
  });
  held.messages.assign(bytes.begin(), bytes.end());
  return held;
}

bool are_held_messages(std::span<const std::byte> bytes, const Snapshot& snapshot, const TypeTable& types) {
  std::unordered_set<std::uint64_t> targets;
  if (!bytes.empty())
    for (const Snapshot::Row& row : snapshot.rows) targets.insert(row.entity.bits());
  bool known = true;
  while (known && !bytes.empty()) {
    std::uint32_t size = 0;
    if (bytes.size() >= sizeof(BatchHeader)) std::memcpy(&size, bytes.data(), sizeof size);
    if (size < sizeof(BatchHeader) || size > bytes.size()) return false;
    const auto batch = verify_batch(bytes.first(size), types, own_limits);
    known = batch && can_be_held(*batch);
    if (known) each_held_target(*batch, [&](Entity e) { known = known && targets.contains(e.bits()); });
    bytes = bytes.subspan(size);
  }
  return known;
}

}  // namespace history

}  // namespace muster
