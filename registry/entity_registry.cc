#include "registry/entity_registry.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <flatbuffers/flatbuffers.h>

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
Receipt EntityRegistry::push_sealed(std::span<const std::byte> batch) { return impl_->inputs.push_sealed(batch); }
const KnownChunk* EntityRegistry::learn_chunk(MessageRoute& route, std::uint64_t place) {
  if (place >= Locator::no_row) return nullptr;
  Chunk& chunk = *core_.state.storage.chunk(Locator::from_bits(static_cast<std::uint32_t>(place)).chunk());
  const CallSite& site = route.calls[chunk.archetype_index];
  return site.run ? route.known.learn(core_.state.storage, site, chunk) : nullptr;
}
const Receipt& EntityRegistry::end_untaken_push(std::uint64_t place) {
  return core_.ended = impl_->inputs.end_push(place >= Locator::no_row ? Receipt{.dead = 1} : Receipt{.unhandled = 1});
}
const Receipt& EntityRegistry::end_handled_push() { return core_.ended = impl_->inputs.end_push({.handled = 1}); }
void EntityRegistry::tell_receipt(const Envelope& envelope, Receipt receipt) {
  impl_->inputs.tell_receipt(envelope, receipt);
}
void EntityRegistry::handler_failed() { impl_->inputs.delivery_failed(); }

Receipt EntityRegistry::push_batch(std::span<const std::byte> batches, std::uint64_t author, std::uint64_t request,
                                   std::uint64_t user) {
  check_outside();
  return impl_->inputs.push_batches(batches, author, request, user);
}

void EntityRegistry::post_batch(std::span<const std::byte> batches) {
  check_outside();
  for_each_batch(batches, [&](const BatchView& batch) {
    impl_->inputs.claim_timer(batch);
    input().append_batch(batch);
  });
}

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
  known().need<Advance>();
  impl_->tell_unknown_names();
  return impl_->inputs.advance(ns);
}

Receipt EntityRegistry::replay(const Envelope& recorded, std::span<const std::byte> batch) {
  check_outside();
  require(recorded.sequence == core_.state.sequence + 1, "EntityRegistry::replay: not the next input");
  if (!core_.state.input.empty()) {
    // A batch saved as posted: replaying it must deliver it first.
    require(recorded.kind == InputKind::post, "EntityRegistry::replay: expected the input that was posted");
    core_.state.input.seal();
    core_.state.input.pop_front();
  }
  return impl_->inputs.replay(recorded, batch);
}

TimerId EntityRegistry::post_timed(std::uint64_t due_ns, BatchView inner) {
  check_outside();
  const TimerId id = core_.state.next_timer++;
  input().append_timed(due_ns, id, inner);
  return id;
}

Entity EntityRegistry::grant(std::uint32_t count, std::uint64_t author) {
  check_outside();
  known().need<Grant>();
  Entity first;
  // Waiting messages may take ids, so this must come after them.
  impl_->inputs.push([&](Arena& pushing) {
    first = {core_.state.storage.next_grant(count), 1};
    pushing.append_world(Grant{.first = first.index, .count = count, .author = author});
  });
  return first;
}

void EntityRegistry::return_grant(Entity first, std::uint32_t count) {
  push(ReturnGrant{.first = first.index, .count = count});
}

Text EntityRegistry::intern(std::string_view text) {
  const Text interned = intern_name(text);
  if (interned) impl_->host_texts.insert(interned.hash);
  return interned;
}

bool EntityRegistry::is_host_text(Text text) const noexcept { return impl_->host_texts.contains(text.hash); }

Receipt EntityRegistry::drop_texts(std::span<const Text> texts) {
  check_outside();
  known().need<DropTexts>();
  DropTexts message;
  message.texts.reserve(texts.size());
  for (const Text text : texts) message.texts.push_back(text.hash);
  core_.pushing.append_table(TypeTraits<DropTexts>::id, Entity{}, encode(message));
  return deliver_pushed();
}

Text EntityRegistry::intern_name(std::string_view text, Receipt* refused) {
  if (text.empty()) return {};
  const Text hash = text_of(text);
  if (impl_->texts.find(hash) == text) return hash;
  check_outside();
  known().need<InternText>();
  flatbuffers::FlatBufferBuilder builder(64 + text.size());
  const auto string = builder.CreateString(text.data(), text.size());
  const auto start = builder.StartTable();
  builder.AddOffset(4, string);
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(start)));
  core_.pushing.append_table(TypeTraits<InternText>::id, Entity{},
                             {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()});
  const Receipt receipt = deliver_pushed();
  if (!receipt.refused) return hash;
  if (refused) *refused = receipt;
  return {};
}

// --- neighbours, life ---

Inbox& EntityRegistry::inbox() noexcept { return impl_->inputs.inbox(); }
void EntityRegistry::add_sink(InputSink& sink) {
  check_outside();
  core_.sinks.push_back(&sink);
  for (const InputKind kind :
       {InputKind::push, InputKind::post, InputKind::flush, InputKind::advance, InputKind::inbox})
    if (sink.wants_receipts(kind)) core_.receipt_sinks[static_cast<std::size_t>(kind)].push_back(&sink);
  core_.note_sinks();
}
void EntityRegistry::remove_sink(InputSink& sink) noexcept {
  std::erase(core_.sinks, &sink);
  for (auto& sinks : core_.receipt_sinks) std::erase(sinks, &sink);
  core_.note_sinks();
}
void EntityRegistry::set_pushed_sink(PushedSink* sink) noexcept { impl_->inputs.set_pushed_sink(sink); }

EntityRegistry::EntityRegistry(RegistryOptions options, std::uint32_t arithmetic)
    : core_(options), impl_(std::make_unique<Impl>(*this, std::move(options))) {
  warn_of_arithmetic(arithmetic, impl_->options.on_warning);
  core_.context = &impl_->delivery.context();
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
  known().need<Create>();
  known().need<Name>();
  known().need<ChildOf>();
  impl_->delivery.know_lifecycle();
  set_executor(impl_->options.executor);
  impl_->note_observed();
}

EntityRegistry::~EntityRegistry() = default;

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
  }
  return "unknown";
}

}  // namespace muster
