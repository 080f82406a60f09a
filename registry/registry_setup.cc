// The parts of EntityRegistry that programs and plugins use to add handlers, workers, runtime
// components, and managers.
#include <utility>

#include "registry/handlers/dynamic_handler.h"
#include "registry/registry_impl.h"

namespace muster {

// --- handlers ---

Subscription EntityRegistry::add_handler(std::unique_ptr<Handler> handler) {
  check_outside();
  const Handler& added = known_types().handlers().add(std::move(handler), storage().archetypes());
  return Subscription(impl_->self, added.ordinal);
}

Subscription EntityRegistry::subscribe(std::string name, DynamicShape shape,
                                       std::function<void(const DynamicCall&)> handler, HandlerOptions options) {
  return add_handler(
      make_dynamic_handler(known_types(), std::move(name), std::move(shape), std::move(handler), std::move(options)));
}

void EntityRegistry::end_handler(std::uint64_t ordinal) {
  check_outside();
  known_types().handlers().remove(ordinal);
}

void Subscription::end() noexcept {
  if (const std::uint64_t ordinal = std::exchange(ordinal_, 0))
    if (const auto registry = registry_.lock()) (*registry)->end_handler(ordinal);
}

// --- runtime components ---

void EntityRegistry::Impl::restore_values(TypeId type) {
  for (const auto& [id, restore] : restorers) {
    if (type && id != type) continue;
    for (std::uint32_t depth = 0; depth < storage.depths(); ++depth)
      for (const auto& archetype : storage.archetypes()) {
        if (!archetype || depth >= archetype->groups.size() || !archetype->has(id)) continue;
        const std::uint16_t slot = archetype->column(id);
        const std::size_t size = archetype->slot_types[slot]->size;
        for (Chunk* chunk : archetype->groups[depth].chunks)
          for (std::uint32_t row = 0; row < chunk->count; ++row)
            restore(chunk->slots()[slot].data + row * size, chunk->ids()[row]);
      }
  }
}

void EntityRegistry::set_restorer(TypeId type, std::function<void(void*, Entity)> restore) {
  check_outside();
  impl_->restorers[type] = std::move(restore);
  impl_->inputs.inside("restore", [&] { impl_->call_restorers(type); }, Inside::readers);
}

// --- managers ---

void EntityRegistry::add_manager(std::string name, Manager& manager) {
  check_outside();
  impl_->managers.add(std::move(name), manager);
}
void EntityRegistry::remove_manager(Manager& manager) {
  check_outside();
  impl_->managers.remove(manager);
}
}  // namespace muster
