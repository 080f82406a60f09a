#include "registry/profile.h"

#include "registry/registry_impl.h"

namespace muster {

void RegistryProfile::observe(bool on) {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  if (on) r.observer = std::make_unique<Observer>(registry_.types(), r.trace);
  if (on != r.counting) registry_.known_types().handlers().observe_calls(on);
  r.counting = on;
  r.note_observed();
}
bool RegistryFigures::observing() const noexcept { return read_.impl_->counting; }
void RegistryProfile::record_causes(bool on) {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  r.cascade.set_causes(on);
  r.delivery.number_messages(registry_.core_.state.sequence);
  r.note_observed();
}
std::vector<HandlerFigures> RegistryFigures::handler_figures() const {
  return read_.impl_->observer ? read_.impl_->observer->handlers() : std::vector<HandlerFigures>();
}
std::vector<MessageFigures> RegistryFigures::message_figures() const {
  return read_.impl_->observer ? read_.impl_->observer->messages() : std::vector<MessageFigures>();
}
void RegistryProfile::set_trace(Trace* trace) {
  registry_.check_outside();
  registry_.impl_->trace = trace;
  if (registry_.impl_->observer) registry_.impl_->observer->set_trace(trace);
}

const PassCounters& RegistryFigures::pass_counters() const noexcept {
  static constexpr PassCounters none{};
  return read_.impl_->parallel ? read_.impl_->parallel->counters() : none;
}

}  // namespace muster
