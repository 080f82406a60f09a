#include "registry/apply/registry_state.h"

#include <utility>

namespace muster {

RegistryState::RegistryState(std::shared_ptr<ComponentTypes> types, std::size_t segment_bytes)
    : storage(std::move(types)), input(segment_bytes), cascade(segment_bytes) {}

RegistryState::RegistryState(RegistryState&& other)
    : RegistryState(other.storage.types(), other.input.segment_bytes()) {
  swap(other);
}

RegistryState& RegistryState::operator=(RegistryState&& other) {
  if (this == &other) return *this;
  RegistryState moved(std::move(other));
  swap(moved);
  return *this;
}

void RegistryState::swap(RegistryState& other) {
  storage.swap(other.storage);
  hierarchy.swap(other.hierarchy);
  names.swap(other.names);
  texts.swap(other.texts);
  std::swap(templates, other.templates);
  std::swap(timers, other.timers);
  std::swap(handlers, other.handlers);
  managers.swap(other.managers);
  input.swap(other.input);
  cascade.swap(other.cascade);
  std::swap(cursor, other.cursor);
  std::swap(sequence, other.sequence);
  std::swap(now_ns, other.now_ns);
  std::swap(next_timer, other.next_timer);
  std::swap(counters, other.counters);
  std::swap(bounds, other.bounds);
  std::swap(resumed, other.resumed);
}

}  // namespace muster
