// Replaces the state of a registry with another one, which was loaded, created, or swapped out
// earlier.
//
//   load(source)        rows > StateReader > a separate RegistryState
//   registry/state/state_reader.cc swap_state(other)   a state that the registry made or had
//                          managers receive their saved state          registry/apply/managers.cc
//                          the contents are exchanged                  RegistryState::swap
//                          caches of the contents are cleared          Impl::forget_contents
//                          restore hooks run, after a load only
//
// If anything fails before the exchange, the registry is unchanged, and managers that had received
// a state get their previous state back. Rules:
//
// - All states of a registry share its component types. When a runtime type is added or removed,
//   states outside the registry are laid out again, and the code that created the type's values
//   destroys them.
// - Numbers that other code compares (version, stamp, chunk_changes, structure, archetype_drops,
//   text_drops) only increase within a registry, regardless of its state.
//   Therefore, a sink that stores rows does not need to know about swaps: a row with a known
//   version has the known bytes.
// - All columns of the outgoing state are offered to each ColumnPreserver, as if their chunks were
//   recycled.
// - If the new state does not contain a manager, the manager returns to the state that it had when
//   it was added.
// - Values of runtime components remain with their state, so a swap does not run any restore hooks.
// - Handlers keep their captures. A captured id then refers to the new state, where its entity may
//   be dead or alive. A captured text must be interned again. Lanes keep their batches.
// - If handlers have requested to subscribe other handlers, the requests and those handlers remain
//   pending in the state whose queue contains the requests.
// - A load or a swap is not an input, so sinks are not called. A host that records inputs must
//   begin again with a new checkpoint.
#include <algorithm>
#include <utility>

#include "messages/require.h"
#include "registry/host.h"
#include "registry/registry_impl.h"
#include "registry/state/state.h"
#include "registry/state/state_reader.h"

namespace muster {

void EntityRegistry::Impl::forget_contents(Archetypes archetypes) {
  ++swaps;
  if (archetypes == Archetypes::others) types.handlers().bind_all(storage.archetypes());
  core.sites.forget();
  if (archetypes != Archetypes::same) structure.forget_plans();
  note_bounds();
  core.general_way &= ~RegistryCore::was_resumed;
  if (state.resumed != 0) core.general_way |= RegistryCore::was_resumed;
  delivery.number_messages(state.sequence);
}

void EntityRegistry::Impl::note_bounds() noexcept {
  options.cascade_messages_max = state.bounds.messages_max;
  options.cascade_bytes_max = state.bounds.bytes_max;
  inputs.forget_waiting();
}

void RegistryHost::raise_sequence(std::uint64_t sequence) noexcept {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  r.state.sequence = std::max<std::uint64_t>(r.state.sequence, sequence);
  r.delivery.number_messages(r.state.sequence);
}

std::uint64_t RegistryReader::swaps() const noexcept { return read_.impl_->swaps; }

RegistryState RegistryReader::make_state() const {
  RegistryState made(read_.core_.state.storage.types(), read_.impl_->options.segment_bytes);
  made.bounds = read_.impl_->own_bounds;
  return made;
}

std::expected<void, StateError> RegistryHost::swap_state(RegistryState& other) {
  registry_.check_outside();
  require(other.storage.types() == registry_.core_.state.storage.types(),
          "RegistryHost::swap_state: the state belongs to another registry");
  EntityRegistry::Impl& r = *registry_.impl_;
  std::uint64_t key = 0;
  if (std::string wrong = r.managers.exchange(other.managers, key); !wrong.empty())
    return std::unexpected(StateError{{StateSection::managers, key, 0}, std::move(wrong)});
  if (const bool causes = r.cascade.causes(); causes != other.cascade.causes()) other.cascade.set_causes(causes);
  r.state.swap(other);
  r.forget_contents();
  return {};
}

std::expected<LoadReport, StateError> EntityRegistry::load(StateSource& source) { return host().load_from(source, 0); }

std::expected<LoadReport, StateError> RegistryHost::restore(StateSource& source) {
  return load_from(source, registry_.sequence());
}

std::expected<LoadReport, StateError> RegistryHost::load_from(StateSource& source, std::uint64_t sequence_min) {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  // Declared before the state so that it is destroyed after the state, whose archetypes use these
  // types.
  struct Learned {
    TypesKnown& types;
    const TypesKnown::Mark before = types.mark();
    bool stays = false;
    ~Learned() {
      if (!stays) types.take_back(before);
    }
  } learned{r.types};
  RegistryState aside = make_state();
  aside.storage.restore_version(r.storage.version() + 1);
  auto report = read_state(
      source, aside, {.types = r.types, .conversions = &r.conversions, .insist_on_bounds = r.options.insist_on_bounds});
  if (!report) return report;
  aside.sequence = std::max<std::uint64_t>(aside.sequence, sequence_min);
  if (auto swapped = swap_state(aside); !swapped) return std::unexpected(std::move(swapped.error()));
  try {
    r.call_restorers(0);
  } catch (...) {
    require(swap_state(aside).has_value(), "EntityRegistry::load: a manager rejected the state it had saved");
    throw;
  }
  learned.stays = true;
  return report;
}

void EntityRegistry::Impl::call_readers(const std::function<void()>& work) {
  const std::uint64_t held = input.hold();  // detects posts made from inside the hooks
  struct LetGo {
    Arena& input;
    std::uint64_t held;
    ~LetGo() { input.let_go(held); }
  } const let_go{input, held};
  const InInput mark(core, Inside::readers);
  work();
}

struct ConversionsOf {
  static Conversions& get(const EntityRegistry& registry) { return registry.impl_->conversions; }
};
void add_conversion(EntityRegistry& registry, TypeId type, Conversion conversion) {
  ConversionsOf::get(registry)[type] = conversion;
}
const Conversions& conversions(const EntityRegistry& registry) { return ConversionsOf::get(registry); }

}  // namespace muster
