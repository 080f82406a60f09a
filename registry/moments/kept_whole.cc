#include "registry/moments/kept_whole.h"

namespace muster {

KeptBatches KeptBatches::of(const Arena& arena) {
  KeptBatches kept;
  if (arena.empty()) return kept;
  arena.for_each(
      [&](const BatchView& batch) { kept.batches.emplace_back(batch.bytes().begin(), batch.bytes().end()); });
  kept.open = arena.last_is_open();
  return kept;
}

void KeptBatches::put(Arena& arena) const {
  arena.clear();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const BatchView batch(batches[i]);
    if (open && i + 1 == batches.size())
      arena.append_messages(batch);
    else
      arena.append_batch(batch);
  }
}

std::size_t KeptBatches::bytes() const noexcept {
  std::size_t sum = 0;
  for (const auto& batch : batches) sum += batch.size();
  return sum;
}

TemplateKeeper::Kept TemplateKeeper::keep(const TemplateTable& table) {
  if (last_.all && last_.changes == table.changes()) return last_;
  auto all = std::make_shared<KeptTemplates>();
  for (const auto& [name, entry] : table.entries()) {
    std::shared_ptr<const KeptTemplate>& kept = (*all)[name];
    if (last_.all)
      if (const auto known = last_.all->find(name);
          known != last_.all->end() && known->second->version == entry.version)
        kept = known->second;
    if (!kept) kept = std::make_shared<const KeptTemplate>(KeptTemplate{entry.what, entry.batch, entry.version});
  }
  last_ = {std::move(all), table.changes()};
  return last_;
}

bool TemplateKeeper::put(const Kept& kept, TemplateTable& table, std::uint64_t version) {
  if (kept.changes == table.changes()) return false;
  std::vector<Text> goes;
  for (const auto& [name, entry] : table.entries())
    if (!kept.all->contains(name)) goes.push_back(name);
  for (const Text name : goes) table.forget(name);
  for (const auto& [name, was] : *kept.all) {
    if (const TemplateTable::Entry* const now = table.find(name); now && now->version == was->version) continue;
    TemplateTable::Entry& entry = table.put(name);
    entry = {};
    entry.what = was->what;
    entry.batch = was->batch;
    entry.version = version;
  }
  return true;
}

KeptScalars KeptScalars::of(const RegistryState& state) {
  return {.disabled = state.handlers.disabled,
          .input = KeptBatches::of(state.input),
          .cascade = KeptBatches::of(state.cascade),
          .cursor = state.cursor,
          .sequence = state.sequence.get(),
          .now_ns = state.now_ns,
          .next_timer = state.next_timer,
          .counters = state.counters,
          .bounds = state.bounds,
          .resumed = state.resumed};
}

void KeptScalars::put(RegistryState& state) const {
  input.put(state.input);
  cascade.put(state.cascade);
  state.cursor = cursor;
  state.sequence = sequence;
  state.now_ns = now_ns;
  state.next_timer = next_timer;
  state.counters = counters;
  state.bounds = bounds;
  state.resumed = resumed;
}

}  // namespace muster
