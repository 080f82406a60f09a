// The parts of EntityRegistry that hosts and plugins use to add handlers, workers, the observer,
// runtime components and managers.
#include <utility>

#include "registry/delivery/schedule.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/registry_impl.h"

namespace muster {

// --- handlers ---

Subscription EntityRegistry::add_handler(std::unique_ptr<Handler> handler) {
  check_outside();
  const Handler& added = known().handlers().add(std::move(handler), storage().archetypes());
  return Subscription(impl_->self, added.ordinal);
}

Subscription EntityRegistry::subscribe(std::string name, DynamicShape shape,
                                       std::function<void(const DynamicCall&)> handler, HandlerOptions options) {
  return add_handler(
      make_dynamic_handler(known(), std::move(name), std::move(shape), std::move(handler), std::move(options)));
}

void EntityRegistry::end_handler(std::uint64_t ordinal) {
  check_outside();
  known().handlers().remove(ordinal);
}

void Subscription::end() noexcept {
  if (const std::uint64_t ordinal = std::exchange(ordinal_, 0))
    if (const auto registry = registry_.lock()) (*registry)->end_handler(ordinal);
}

TypeId EntityRegistry::change_message(ChangeKind kind, TypeId component) {
  if (!known().component(component))
    throw SetupError("there is no component with type id " + std::to_string(component));
  return known().change(kind, component).type->id;
}

const HandlerTable& EntityRegistry::handlers() const noexcept { return impl_->types.handlers(); }

void EntityRegistry::set_executor(Executor* executor) {
  check_outside();
  Impl& r = *impl_;
  r.delivery.set_parallel(nullptr);
  r.parallel.reset();
  if (!executor || executor->workers() < 2) return;
  r.parallel = std::make_unique<ParallelPass>(PassParts{r.storage, r.types, r.texts, r.structure.templates(),
                                                        r.next_timer, r.now_ns, r.self, r.cascade, r.core.workers},
                                              *executor, r.options.pass_serial_below_ns);
  r.delivery.set_parallel(r.parallel.get());
  r.note_observed();
}
const PassCounters& EntityRegistry::pass_counters() const noexcept {
  static constexpr PassCounters none{};
  return impl_->parallel ? impl_->parallel->counters() : none;
}

std::string EntityRegistry::pass_dot(TypeId message) const {
  const MessageRoute* route = handlers().route(message);
  return route ? schedule_as_dot(*route, types()) : std::string();
}
std::string EntityRegistry::pass_groups(TypeId message) const {
  const MessageRoute* route = handlers().route(message);
  return route ? schedule_as_groups(*route, types()) : std::string();
}
std::string EntityRegistry::why_apart(TypeId message, std::string_view first, std::string_view second) const {
  const MessageRoute* route = handlers().route(message);
  return route ? muster::why_apart(*route, types(), first, second) : std::string();
}

// --- profiling ---

void EntityRegistry::observe(bool on) {
  check_outside();
  Impl& r = *impl_;
  if (on) r.observer = std::make_unique<Observer>(types(), r.trace);
  if (on != r.counting) known().handlers().observe_calls(on);
  r.counting = on;
  r.note_observed();
}
bool EntityRegistry::observing() const noexcept { return impl_->counting; }
void EntityRegistry::record_causes(bool on) {
  check_outside();
  Impl& r = *impl_;
  r.cascade.set_causes(on);
  r.delivery.number_messages(core_.state.sequence);
  r.note_observed();
}
std::vector<HandlerFigures> EntityRegistry::handler_figures() const {
  return impl_->observer ? impl_->observer->handlers() : std::vector<HandlerFigures>();
}
std::vector<MessageFigures> EntityRegistry::message_figures() const {
  return impl_->observer ? impl_->observer->messages() : std::vector<MessageFigures>();
}
void EntityRegistry::set_trace(Trace* trace) {
  check_outside();
  impl_->trace = trace;
  if (impl_->observer) impl_->observer->set_trace(trace);
}

void EntityRegistry::begin_part(std::uint32_t part) { known().handlers().begin_part(part); }

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

void EntityRegistry::forget_runtime_type(TypeId type) {
  check_outside();
  known().forget_runtime(type);
  impl_->restorers.erase(type);
}

void EntityRegistry::remove_runtime_types(const std::function<bool(const RuntimeOps&)>& whose) {
  check_outside();
  for (const TypeId type : known().forget_runtime_of(whose)) impl_->restorers.erase(type);
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
Manager* EntityRegistry::find_manager(std::string_view name) const noexcept { return impl_->managers.find(name); }
const ManagerStates& EntityRegistry::waiting_managers() const noexcept { return impl_->managers.waiting(); }
void EntityRegistry::set_waiting_managers(ManagerStates states) {
  check_outside();
  impl_->managers.set_waiting(std::move(states));
}
void EntityRegistry::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const {
  if (alive(e)) impl_->managers.describe(e, take);
}

}  // namespace muster
