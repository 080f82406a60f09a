// How a registry gets another state: one that was loaded, or one that was made or taken out before.
#include <utility>

#include "messages/require.h"
#include "registry/registry_impl.h"
#include "registry/state/state.h"
#include "registry/state/state_reader.h"

namespace muster {

void EntityRegistry::Impl::forget_contents() {
  types.handlers().bind_all(storage.archetypes());
  core.sites.forget();
  structure.forget_plans();
  options.cascade_messages_max = state.bounds.messages_max;
  options.cascade_bytes_max = state.bounds.bytes_max;
  core.general_way &= ~RegistryCore::was_resumed;
  if (state.resumed != 0) core.general_way |= RegistryCore::was_resumed;
  delivery.number_messages(state.sequence);
}

RegistryState EntityRegistry::make_state() const {
  RegistryState made(core_.state.storage.types(), impl_->options.segment_bytes);
  made.bounds = impl_->own_bounds;
  return made;
}

std::expected<void, StateError> EntityRegistry::swap_state(RegistryState& other) {
  check_outside();
  require(other.storage.types() == core_.state.storage.types(), "EntityRegistry::swap_state: another registry's state");
  Impl& r = *impl_;
  std::uint64_t key = 0;
  if (std::string wrong = r.managers.exchange(other.managers, key); !wrong.empty())
    return std::unexpected(StateError{{StateSection::managers, key, 0}, std::move(wrong)});
  if (const bool causes = r.cascade.causes(); causes != other.cascade.causes()) other.cascade.set_causes(causes);
  r.state.swap(other);
  r.forget_contents();
  return {};
}

std::expected<LoadReport, StateError> EntityRegistry::load(StateSource& source) {
  check_outside();
  Impl& r = *impl_;
  // Declared before the state, whose archetypes have these types: it goes first.
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
  if (auto swapped = swap_state(aside); !swapped) return std::unexpected(std::move(swapped.error()));
  try {
    r.call_restorers(0);
  } catch (...) {
    require(swap_state(aside).has_value(), "EntityRegistry::load: a manager does not take back what it saved");
    throw;
  }
  learned.stays = true;
  return report;
}

bool EntityRegistry::is_new() const noexcept {
  const RegistryState& state = core_.state;
  return state.storage.rows() == 0 && state.sequence == 0 && state.input.empty();
}

void EntityRegistry::Impl::call_restorers(TypeId type) {
  const std::uint64_t held = input.hold();  // a post from inside is to be noticed
  struct LetGo {
    Arena& input;
    std::uint64_t held;
    ~LetGo() { input.let_go(held); }
  } const let_go{input, held};
  const InInput mark(core, Inside::readers);
  restore_values(type);
}

struct ConversionsOf {
  static Conversions& get(const EntityRegistry& registry) { return registry.impl_->conversions; }
};
void add_conversion(EntityRegistry& registry, TypeId type, Conversion conversion) {
  ConversionsOf::get(registry)[type] = conversion;
}
const Conversions& conversions(const EntityRegistry& registry) { return ConversionsOf::get(registry); }

}  // namespace muster
