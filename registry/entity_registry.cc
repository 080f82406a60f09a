#include "registry/entity_registry.h"

#include <string>

#include "registry/host.h"
#include "registry/registry_impl.h"

namespace muster {

// --- inputs ---

void EntityRegistry::used_inside_handler() const noexcept {
  const Handler* handler = core_.running_straight() ? core_.running_straight() : impl_->delivery.running();
  fatal("the registry was used inside a handler" + (handler ? " (\"" + handler->name + "\")" : std::string()) +
        "; a handler reads through its parameters and changes the world through its Outbox, which also subscribes and "
        "ends handlers: Outbox::subscribe, Outbox::end");
}

Receipt EntityRegistry::deliver_pushed() { return impl_->inputs.push(); }
Receipt EntityRegistry::deliver_new(std::span<Entity> ids, bool waited) { return impl_->inputs.push_new(ids, waited); }
const KnownChunk* EntityRegistry::learn_chunk(MessageRoute& route, std::uint64_t place) {
  if (place >= Locator::no_row) return nullptr;
  Chunk& chunk = *core_.state.storage.chunk(Locator::from_bits(static_cast<std::uint32_t>(place)).chunk());
  const CallSite& site = route.calls[chunk.archetype_index];
  return site.run ? route.chunks.learn(core_.state.storage, site, chunk) : nullptr;
}
const Receipt& EntityRegistry::end_untaken_push(std::uint64_t place) {
  return core_.ended = impl_->inputs.end_push(place >= Locator::no_row ? Receipt{.dead = 1} : Receipt{.unhandled = 1});
}
const Receipt& EntityRegistry::end_handled_push() { return core_.ended = impl_->inputs.end_push({.handled = 1}); }
void EntityRegistry::handler_failed() { impl_->inputs.delivery_failed(); }

void EntityRegistry::Impl::tell_unknown_names() {
  if (!unknown_names.has_new(types.handlers())) [[likely]]
    return;
  for (const std::string& sentence : unknown_names.look(types.handlers())) options.warn(sentence);
}

Receipt EntityRegistry::flush() {
  check_outside();
  impl_->tell_unknown_names();
  return impl_->inputs.flush();
}

Receipt EntityRegistry::advance(std::uint64_t ns) {
  check_outside();
  known_types().need<Advance>();
  impl_->tell_unknown_names();
  if (impl_->options.on_sync_difference) [[unlikely]] {
    if (!impl_->each_tick) impl_->do_ticks_twice(*this);
    impl_->each_tick->before_tick();
  }
  return impl_->inputs.advance(ns);
}

TimerId EntityRegistry::post_timed(std::uint64_t due_ns) {
  const TimerId id = core_.state.next_timer++;
  input().append_timed(due_ns, id, core_.timed.front());
  core_.timed.clear();
  return id;
}

Text EntityRegistry::intern(std::string_view text) {
  const Text interned = intern_name(text);
  if (interned) impl_->host_texts.insert(interned.hash);
  return interned;
}

Text EntityRegistry::intern_name(std::string_view text, Receipt* refused) {
  if (text.empty()) return {};
  const Text hash = text_of(text);
  if (impl_->texts.find(hash) == text) return hash;
  check_outside();
  known_types().need<InternText>();
  core_.pushing.append_table(TypeTraits<InternText>::id, Entity{},
                             core_.tables.encode(InternText{.text = std::string(text)}));
  const Receipt receipt = deliver_pushed();
  if (!receipt.refused) return hash;
  if (refused) *refused = receipt;
  return {};
}

// --- life ---

EntityRegistry::EntityRegistry(RegistryOptions options, std::uint32_t arithmetic)
    : core_(options), impl_(std::make_unique<Impl>(*this, std::move(options))) {
  warn_of_arithmetic(arithmetic, impl_->options.on_warning);
  core_.context = &impl_->delivery.context();
  core_.context->log = &impl_->log;
  impl_->log.context_ = core_.context;
  impl_->log.inside_ = &core_.inside;
  impl_->self = std::make_shared<EntityRegistry*>(this);
  core_.state.storage.on_archetype_context = &core_;
  core_.state.storage.on_layout = [](void* core, Archetype& archetype) {
    static_cast<RegistryCore*>(core)->types.handlers().bind_again(archetype);
    static_cast<RegistryCore*>(core)->sites.forget();
  };
  core_.state.storage.on_drop = [](void* core, std::span<Archetype* const> leaving) {
    static_cast<RegistryCore*>(core)->types.handlers().forget(leaving);
    static_cast<RegistryCore*>(core)->sites.forget();
  };
  core_.state.storage.on_archetype = [](void* core, Archetype& archetype) {
    static_cast<RegistryCore*>(core)->types.handlers().bind(archetype);
  };
  known_types().handlers().shuffle(impl_->options.shuffle_unordered);
  known_types().need<Create>();
  known_types().need<Name>();
  known_types().need<ChildOf>();
  impl_->delivery.know_lifecycle();
  host().set_executor(impl_->options.executor);
  impl_->note_observed();
}

EntityRegistry::~EntityRegistry() { impl_->each_tick.reset(); }

const char* name(RefusalCode code) noexcept {
  switch (code) {
    case RefusalCode::none: return "none";
    case RefusalCode::dead_entity: return "dead_entity";
    case RefusalCode::id_not_granted: return "id_not_granted";
    case RefusalCode::unknown_component: return "unknown_component";
    case RefusalCode::missing_component: return "missing_component";
    case RefusalCode::unknown_field: return "unknown_field";
    case RefusalCode::name_taken: return "name_taken";
    case RefusalCode::bad_name: return "bad_name";
    case RefusalCode::cycle: return "cycle";
    case RefusalCode::value_mismatch: return "value_mismatch";
    case RefusalCode::text_collision: return "text_collision";
    case RefusalCode::bad_value: return "bad_value";
    case RefusalCode::unknown_template: return "unknown_template";
    case RefusalCode::wrong_size: return "wrong_size";
    case RefusalCode::component_there: return "component_there";
    case RefusalCode::kept_by_registry: return "kept_by_registry";
    case RefusalCode::before_is_no_child: return "before_is_no_child";
    case RefusalCode::wrong_targets: return "wrong_targets";
    case RefusalCode::other_layout: return "other_layout";
    case RefusalCode::bad_template: return "bad_template";
    case RefusalCode::timer_chosen: return "timer_chosen";
    case RefusalCode::no_edit_log: return "no_edit_log";
    case RefusalCode::not_in_step: return "not_in_step";
  }
  return "unknown";
}

}  // namespace muster
