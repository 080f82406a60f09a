#include "registry/entity_registry.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include <flatbuffers/flatbuffers.h>

#include "registry/clock.h"
#include "registry/registry_impl.h"
#include "registry/schedule.h"
#include "registry/thrown.h"

namespace muster {

namespace {

void add_to(Receipt& sum, const Receipt& one) noexcept {
  if (sum.refused == 0) sum.refusal = one.refusal;
  sum.handled += one.handled;
  sum.unhandled += one.unhandled;
  sum.dead += one.dead;
  sum.refused += one.refused;
  sum.sequence = one.sequence;
}

}  // namespace

// --- inputs ---

Envelope EntityRegistry::Impl::seal(InputKind kind, std::uint64_t author, std::uint64_t request,
                                    std::span<const std::byte> batch) {
  const Envelope envelope{++sequence, author, request, kind};
  if (cascade.causes()) [[unlikely]]
    delivery.number_messages(sequence);
  for (InputSink* sink : sinks) sink->on_input(envelope, batch);
  return envelope;
}

namespace {

/// Of messages [begin, end) of a batch that handlers pushed, the first of a table's at `offset` in the body.
Observer::Chain chain_of(const BatchView& batch, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                         std::size_t offset) noexcept {
  Observer::Chain chain{.first = first};
  if (!batch.has_causes() || begin == end) return chain;
  if (batch.kind() == BatchKind::table) {
    chain.cause = chain.last_cause = table_cause(batch.body() + offset);
  } else {
    chain.cause = cause_of(batch, static_cast<std::uint32_t>(begin));
    chain.last_cause = cause_of(batch, static_cast<std::uint32_t>(end - 1));
  }
  return chain;
}

}  // namespace

std::uint64_t EntityRegistry::Impl::begin_batch() {
  Observer* const watch = watching();
  if (!watch) [[likely]]
    return 0;
  watch->next_call();
  return steady_ns();
}

Receipt EntityRegistry::Impl::deliver_input(const BatchView& batch, InputKind kind, std::uint64_t author,
                                            std::uint64_t request) {
  const Envelope envelope = seal(kind, author, request, batch.bytes());
  Receipt receipt;
  receipt.sequence = envelope.sequence;
  const std::uint64_t begin_ns = begin_batch(), first = delivery.next_number();
  if (MessageRoute* route = types.route(batch.type()); batch.kind() == BatchKind::each && route) [[likely]] {
    delivery.each(batch, *route, 0, batch.count(), receipt);
  } else if ((kind == InputKind::inbox || author != 0) && batch.kind() == BatchKind::timed && batch.timer() != 0) {
    receipt.refused = 1;  // ids of timers are the registry's to give
    receipt.refusal = {RefusalCode::bad_value, {}, batch.type()};
  } else {
    BatchCursor all;
    delivery.deliver(batch, all, ~std::uint64_t{0}, receipt);
  }
  if (Observer* const watch = watching()) [[unlikely]]
    watch->add_batch(batch, batch.kind() == BatchKind::shared ? 1 : batch.count(), receipt, true, begin_ns,
                     {.first = first});
  counters.add(receipt);
  for (InputSink* sink : receipt_sinks_of(kind)) sink->on_receipt(envelope, receipt);
  managers.tell_destroyed();
  return receipt;
}

bool EntityRegistry::Impl::gather(std::size_t batches_max, Receipt& sum) {
  gathering.clear();
  input.visit(batches_max, [&](const BatchView& batch) { return gathering.add(batch, types); });
  const std::size_t batches = gathering.batches();
  if (batches < Gather::batches_min || gathering.buckets().size() < 2) {
    gathering.pause();
    return false;
  }
  input.visit(batches, [&](const BatchView& batch) {
    seal(InputKind::post, 0, 0, batch.bytes());
    return true;
  });
  Receipt all;
  all.sequence = sequence;
  for (const Gather::Bucket& bucket : gathering.buckets()) {
    Receipt one;
    one.sequence = sequence;
    const std::uint64_t begin_ns = begin_batch();
    delivery.items(*bucket.route, bucket.run(), one);
    add_to(all, one);
    if (Observer* const watch = watching()) [[unlikely]]
      watch->add_messages(bucket.route->type->id, bucket.count, one, true, begin_ns, {});
  }
  counters.add(all);
  add_to(sum, all);
  for (std::size_t i = 0; i < batches; ++i) input.pop_front();
  return true;
}

Receipt EntityRegistry::Impl::deliver_inputs(InputKind last_kind, std::uint64_t author, std::uint64_t request) {
  Receipt sum;
  const std::size_t kept = last_kind == InputKind::post ? 0 : 1;  // the last batch is an input of its own
  input.seal();
  while (!input.empty()) {
    if (options.gather && receipt_sinks_of(InputKind::post).empty() && !cascade.causes() &&
        input.batches() >= Gather::batches_min + kept && gathering.is_due()) {
      Receipt gathered;
      if (gather(input.batches() - kept, gathered)) {
        if (last_kind != InputKind::push) add_to(sum, gathered);
        continue;
      }
    }
    const bool last = input.batches() == kept;
    const BatchView batch = input.front();
    const Receipt one =
        last ? deliver_input(batch, last_kind, author, request) : deliver_input(batch, InputKind::post, 0, 0);
    if (last_kind == InputKind::push) {
      if (last) sum = one;
    } else {
      add_to(sum, one);
    }
    input.pop_front();
  }
  return sum;
}

bool EntityRegistry::Impl::deliver_cascade() {
  std::uint64_t left = options.cascade_messages_max;
  while (!cascade.empty() && left > 0) {
    const BatchView batch = cascade.front();
    Receipt receipt;
    const std::uint32_t before = cursor.message;
    const std::uint64_t begin_ns = begin_batch(), first = delivery.next_number();
    const std::size_t offset = cursor.offset;
    const bool done = delivery.deliver(batch, cursor, left, receipt);
    const std::uint64_t delivered = batch.kind() == BatchKind::shared || batch.kind() == BatchKind::timed
                                        ? 1
                                        : (done ? batch.count() : cursor.message) - before;
    left -= std::min(left, delivered);
    if (Observer* const watch = watching()) [[unlikely]]
      watch->add_batch(batch, delivered, receipt, false, begin_ns,
                       chain_of(batch, first, before, before + delivered, offset));
    counters.add(receipt);
    managers.tell_destroyed();
    if (done) {
      cursor = {};
      cascade.pop_front();
    }
  }
  if (cascade.empty()) return true;
  cascade.seal();  // what is carried over is never extended, so that saved and read back it is the same
  ++counters.carried;
  if (Observer* const watch = watching()) [[unlikely]] {
    std::uint64_t done = cursor.message;  // of the first batch
    cascade.for_each([&](const BatchView& batch) {
      const bool one = batch.kind() == BatchKind::shared || batch.kind() == BatchKind::timed;
      watch->add_carried(batch.type(), (one ? 1 : batch.count()) - std::exchange(done, 0));
    });
  }
  return false;
}

void EntityRegistry::Impl::deliver_carried() {
  if (!cascade.empty() && !deliver_cascade()) ++counters.overtaken;
}

void EntityRegistry::Impl::claim_ids(const BatchView& batch) {
  if (batch.kind() == BatchKind::timed) {
    if (const TimerId timer = batch.timer(); timer >= next_timer) next_timer = timer + 1;
    return;
  }
  if ((batch.type() != TypeTraits<Create>::id && !is_tree(batch.type())) ||
      (batch.kind() != BatchKind::each && batch.kind() != BatchKind::shared))
    return;
  for (std::uint32_t i = 0; i < batch.count(); ++i)
    if (batch.target(i) == storage.ids().peek()) storage.reserve();
}

void EntityRegistry::used_inside_handler() const noexcept {
  const Handler* handler = impl_->delivery.running();
  fatal("the registry was used inside a handler" + (handler ? " (\"" + handler->name + "\")" : std::string()) +
        "; a handler changes the world through its Outbox");
}

namespace {

/// To be called where something is caught: what a handler threw is the end of the program.
template <class Impl>
[[noreturn]] void handler_failed(Impl& impl) {
  const Handler* handler = impl.delivery.running();
  try {
    throw;
  } catch (const std::exception& error) {
    if (handler) handler_threw(*handler, impl.types, error.what());
    throw;
  } catch (...) {
    if (handler) handler_threw(*handler, impl.types, "something unknown");
    throw;
  }
}

/// Marks the registry as delivering.
class Delivering {
 public:
  explicit Delivering(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~Delivering() { flag_ = false; }
  Delivering(const Delivering&) = delete;
  Delivering& operator=(const Delivering&) = delete;

 private:
  bool& flag_;
};

/// Tells the observer, if there is one, of an input with all it caused.
template <class Impl>
class ObservedInput {
 public:
  ObservedInput(Impl& impl, std::string_view what) : impl_(impl), what_(what), sequence_(impl.sequence) {
    if (impl.counting) [[unlikely]]
      begin_ns_ = steady_ns();
  }
  ~ObservedInput() {
    if (begin_ns_ && impl_.sequence != sequence_) [[unlikely]]
      impl_.observer->add_input(what_, impl_.sequence, begin_ns_);
  }
  ObservedInput(const ObservedInput&) = delete;
  ObservedInput& operator=(const ObservedInput&) = delete;

 private:
  Impl& impl_;
  std::string_view what_;
  std::uint64_t sequence_, begin_ns_ = 0;
};

template <class Impl, class Work>
auto delivering(Impl& impl, std::string_view what, Work&& work) {
  const Delivering mark(impl.delivering);
  const ObservedInput<Impl> input(impl, what);
  try {
    return work();
  } catch (...) {
    handler_failed(impl);
  }
}

}  // namespace

Receipt EntityRegistry::deliver_pushed() {
  return delivering(*impl_, "push", [&] {
    impl_->deliver_carried();
    Receipt receipt = impl_->deliver_inputs(InputKind::push, 0, 0);
    receipt.cut_short = !impl_->deliver_cascade();
    return receipt;
  });
}

Receipt EntityRegistry::push_sealed(std::span<const std::byte> bytes) {
  Impl& r = *impl_;
  const Delivering mark(r.delivering);
  const BatchView batch(bytes);
  const Envelope envelope = r.seal(InputKind::push, 0, 0, bytes);
  Receipt receipt;
  receipt.sequence = envelope.sequence;
  try {
    r.delivery.builtin(batch, *r.types.route(batch.type()), batch.target(0), batch.payload(0), receipt);
  } catch (...) {
    handler_failed();
  }
  r.counters.add(receipt);
  if (!r.receipt_sinks_of(InputKind::push).empty()) tell_receipt(envelope, receipt);
  r.managers.tell_destroyed();
  if (!r.cascade.empty()) [[unlikely]]
    receipt.cut_short = deliver_caused();
  return receipt;
}

void EntityRegistry::tell_receipt(Envelope envelope, Receipt receipt) {
  for (InputSink* sink : core_->receipt_sinks_of(envelope.kind)) sink->on_receipt(envelope, receipt);
}

bool EntityRegistry::deliver_caused() {
  return !delivering(*impl_, "push", [&] { return impl_->deliver_cascade(); });
}

void EntityRegistry::handler_failed() { muster::handler_failed(*impl_); }

Receipt EntityRegistry::push_batch(std::span<const std::byte> bytes, std::uint64_t author, std::uint64_t request) {
  check_outside();
  return delivering(*impl_, "push_batch", [&] {
    impl_->deliver_carried();
    impl_->deliver_inputs(InputKind::post, 0, 0);
    const BatchView batch(bytes);
    if (author == 0) impl_->claim_ids(batch);
    Receipt receipt = impl_->deliver_input(batch, InputKind::push, author, request);
    receipt.cut_short = !impl_->deliver_cascade();
    return receipt;
  });
}

void EntityRegistry::post_batch(std::span<const std::byte> batch) {
  check_outside();
  impl_->claim_ids(BatchView(batch));
  input().append_batch(BatchView(batch));
}

Receipt EntityRegistry::flush() {
  check_outside();
  return delivering(*impl_, "flush", [&] {
    const bool idle = impl_->cascade.empty() && impl_->input.empty() && impl_->inbox.empty();
    Receipt sum;
    sum.sequence = impl_->sequence;
    if (idle) return sum;
    impl_->deliver_carried();
    sum = impl_->deliver_inputs(InputKind::post, 0, 0);
    impl_->inbox.drain([&](std::uint64_t author, std::uint64_t request, std::span<const std::byte> bytes) {
      add_to(sum, impl_->deliver_input(BatchView(bytes), InputKind::inbox, author, request));
    });
    sum.sequence = impl_->seal(InputKind::flush, 0, 0, {}).sequence;
    sum.cut_short = !impl_->deliver_cascade();
    return sum;
  });
}

Receipt EntityRegistry::advance(std::uint64_t ns) {
  check_outside();
  known().need<Advance>();
  return delivering(*impl_, "advance", [&] {
    impl_->deliver_carried();
    Receipt sum = impl_->deliver_inputs(InputKind::post, 0, 0);
    BatchBuilder builder;
    builder.append_world(Advance{.ns = ns});
    add_to(sum, impl_->deliver_input(builder.front(), InputKind::advance, 0, 0));
    impl_->deliver_cascade();
    const std::uint64_t until = impl_->now_ns + ns;
    while (!impl_->timers.empty() && impl_->timers.next_due() <= until) {
      const std::uint64_t due = impl_->timers.next_due();
      impl_->now_ns = std::max(impl_->now_ns, due);
      while (!impl_->timers.empty() && impl_->timers.next_due() == due) {
        const std::vector<std::byte> timed = impl_->timers.pop();
        impl_->cascade.append_batch(BatchView(timed).inner());
      }
      impl_->cascade.seal();
      impl_->deliver_cascade();
    }
    impl_->now_ns = until;
    sum.cut_short = !impl_->cascade.empty();
    return sum;
  });
}

TimerId EntityRegistry::post_timed(std::uint64_t due_ns, BatchView inner) {
  check_outside();
  const TimerId id = impl_->next_timer++;
  input().append_timed(due_ns, id, inner);
  return id;
}

void EntityRegistry::reserve(std::span<Entity> ids) {
  check_outside();
  core_->storage.reserve(ids);
}

Entity EntityRegistry::grant(std::uint32_t count, std::uint64_t author) {
  check_outside();
  known().need<Grant>();
  return delivering(*impl_, "grant", [&] {
    // What waits may take ids: only then is known which are unused.
    impl_->deliver_carried();
    impl_->deliver_inputs(InputKind::post, 0, 0);
    const Entity first{static_cast<std::uint32_t>(core_->storage.ids().indices()), 1};
    BatchBuilder builder;
    builder.append_world(Grant{.first = first.index, .count = count, .author = author});
    impl_->deliver_input(builder.front(), InputKind::push, 0, 0);
    impl_->deliver_cascade();
    return first;
  });
}

void EntityRegistry::return_grant(Entity first, std::uint32_t count) {
  push(ReturnGrant{.first = first.index, .count = count});
}

Text EntityRegistry::intern(std::string_view text) {
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
  input().seal();
  input().append_table(TypeTraits<InternText>::id, Entity{},
                       {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()});
  return deliver_pushed().refused ? Text{} : hash;
}

// --- reading ---

std::string_view EntityRegistry::text(Text text) const noexcept { return impl_->texts.find(text); }
std::size_t EntityRegistry::text_count() const noexcept { return impl_->texts.size(); }
std::string_view EntityRegistry::text_at(std::size_t i) const noexcept { return impl_->texts[i]; }
TypeTable& EntityRegistry::types() noexcept { return impl_->types.table(); }
const TypeTable& EntityRegistry::types() const noexcept { return impl_->types.table(); }

std::span<const TypeId> EntityRegistry::components(Entity e) const noexcept {
  const Row row = storage().find(e);
  return row ? std::span<const TypeId>(row.chunk->archetype->types) : std::span<const TypeId>{};
}

Entity EntityRegistry::parent(Entity e) const noexcept { return impl_->structure.hierarchy().parent(e); }
std::uint32_t EntityRegistry::depth(Entity e) const noexcept { return impl_->structure.hierarchy().depth(e); }
Entity EntityRegistry::first_child(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().first_child(e) : Entity{};
}
Entity EntityRegistry::next_sibling(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().next_sibling(e) : Entity{};
}
std::uint32_t EntityRegistry::child_count(Entity e) const noexcept {
  return alive(e) ? impl_->structure.hierarchy().children(e) : 0;
}
std::string_view EntityRegistry::name(Entity e) const noexcept { return text(impl_->structure.name_of(e)); }
Entity EntityRegistry::find_child(Entity parent, std::string_view name) const noexcept {
  return name.empty() ? Entity{} : impl_->structure.names().find(parent, text_of(name));
}

Entity EntityRegistry::find_path(std::string_view path) const {
  if (path.starts_with('/')) path.remove_prefix(1);
  Entity at;
  std::string name;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i < path.size() && path[i] == '\\' && i + 1 < path.size()) {
      name += path[++i];
    } else if (i == path.size() || path[i] == '/') {
      at = find_child(at, name);
      if (!at) return {};
      name.clear();
    } else {
      name += path[i];
    }
  }
  return at;
}

std::string EntityRegistry::path(Entity e) const {
  std::string path;
  for (; alive(e); e = parent(e)) {
    const std::string_view name = this->name(e);
    path.insert(0, '/' + (name.empty() ? '#' + std::to_string(e.index) + ':' + std::to_string(e.generation)
                                       : escape_name(name)));
  }
  return path;
}

std::uint64_t EntityRegistry::now_ns() const noexcept { return impl_->now_ns; }
bool EntityRegistry::next_due(std::uint64_t& due_ns) const noexcept {
  if (impl_->timers.empty()) return false;
  due_ns = impl_->timers.next_due();
  return true;
}
std::uint64_t EntityRegistry::sequence() const noexcept { return impl_->sequence; }
const RegistryCounters& EntityRegistry::counters() const noexcept { return impl_->counters; }
std::uint64_t EntityRegistry::version() const noexcept { return storage().version(); }
std::uint64_t EntityRegistry::begin_version() noexcept { return core_->storage.begin_version(); }
void EntityRegistry::set_preserver(ColumnPreserver* preserver) noexcept { core_->storage.set_preserver(preserver); }

// --- handlers ---

Subscription EntityRegistry::add_handler(std::unique_ptr<Handler> handler) {
  check_outside();
  const Handler& added = known().handlers().add(std::move(handler), storage().archetypes());
  return Subscription(impl_->self, added.ordinal);
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
  r.parallel = std::make_unique<ParallelPass>(
      PassParts{r.storage, r.types, r.texts, r.structure.templates(), r.next_timer, r.now_ns, r.self, *this, r.cascade},
      *executor, r.options.pass_serial_below_ns);
  r.parallel->set_observer(r.watching());
  r.delivery.set_parallel(r.parallel.get());
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

// --- where time goes ---

void EntityRegistry::observe(bool on) {
  check_outside();
  Impl& r = *impl_;
  if (on) r.observer = std::make_unique<Observer>(types(), r.trace);
  if (on != r.counting) known().handlers().observe_calls(on);
  r.counting = on;
  r.observed = on || r.cascade.causes();
  r.delivery.set_observer(r.watching());
  if (r.parallel) r.parallel->set_observer(r.watching());
}
bool EntityRegistry::observing() const noexcept { return impl_->counting; }
void EntityRegistry::record_causes(bool on) {
  check_outside();
  Impl& r = *impl_;
  r.cascade.set_causes(on);
  r.delivery.number_messages(r.sequence);
  r.observed = on || r.counting;
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
  const std::uint64_t held = input().hold();  // a post from inside is to be noticed
  delivering(*impl_, "restore", [&] { impl_->restore_values(type); });
  input().let_go(held);
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

// --- neighbours, life ---

Inbox& EntityRegistry::inbox() noexcept { return impl_->inbox; }
void EntityRegistry::add_sink(InputSink& sink) {
  check_outside();
  impl_->sinks.push_back(&sink);
  for (const InputKind kind :
       {InputKind::push, InputKind::post, InputKind::flush, InputKind::advance, InputKind::inbox})
    if (sink.wants_receipts(kind)) impl_->receipt_sinks[static_cast<std::size_t>(kind)].push_back(&sink);
}
void EntityRegistry::remove_sink(InputSink& sink) noexcept {
  std::erase(impl_->sinks, &sink);
  for (auto& sinks : impl_->receipt_sinks) std::erase(sinks, &sink);
}

EntityRegistry::EntityRegistry(RegistryOptions options) : impl_(std::make_unique<Impl>(*this, options)) {
  core_ = impl_.get();
  core_->context = &impl_->delivery.context();
  impl_->self = std::make_shared<EntityRegistry*>(this);
  core_->storage.on_archetype_context = core_;
  core_->storage.on_layout = [](void* core, Archetype& archetype) {
    static_cast<RegistryCore*>(core)->types.handlers().bind_again(archetype);
    static_cast<RegistryCore*>(core)->sites.forget();
  };
  core_->storage.on_archetype = [](void* core, Archetype& archetype) {
    static_cast<RegistryCore*>(core)->types.handlers().bind(archetype);
  };
  known().need<Create>();
  known().need<Name>();
  known().need<ChildOf>();
  impl_->delivery.know_lifecycle();
  set_executor(options.executor);
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
    case RefusalCode::no_right: return "no_right";
    case RefusalCode::unknown_template: return "unknown_template";
  }
  return "unknown";
}

}  // namespace muster
