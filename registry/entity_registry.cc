#include "registry/entity_registry.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <flatbuffers/flatbuffers.h>

#include "registry/delivering.h"
#include "registry/registry_impl.h"

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
  core.tell_input(envelope, batch);
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
  for (InputSink* sink : core.receipt_sinks_of(kind)) sink->on_receipt(envelope, receipt);
  managers.tell_destroyed();
  return receipt;
}

bool EntityRegistry::Impl::gather(std::size_t batches_max, Receipt& sum) {
  gathering.clear();
  input.visit(batches_max,
              [&into = gathering, &known = types](const BatchView& batch) { return into.add(batch, known); });
  const std::size_t batches = gathering.batches();
  if (batches < Gather::batches_min || gathering.buckets().size() < 2) {
    gathering.pause();
    return false;
  }
  Envelope envelope{.kind = InputKind::post};
  const Arena::Place end = input.visit(batches, [&envelope, &parts = core](const BatchView& batch) {
    envelope.sequence = ++parts.sequence;
    parts.tell_input(envelope, batch.bytes());
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
      watch->add_messages(bucket.route->type->id, bucket.count(), one, true, begin_ns, {});
  }
  counters.add(all);
  add_to(sum, all);
  input.drop(batches, end);
  return true;
}

std::size_t EntityRegistry::Impl::deliver_plain(std::size_t batches_max, Receipt& sum) {
  // A copy of the header's kind and flags: neither rows nor causes.
  constexpr std::uint16_t plain = static_cast<std::uint16_t>(BatchKind::each);
  RegistryCore& parts = core;
  RunContext& context = delivery.context();
  Envelope envelope{.kind = InputKind::post};
  Receipt all;
  struct Few {
    std::uint64_t messages = 0, handled_and_dead = 0;  // the latter as two halves
    void add_to(Receipt& receipt) const noexcept {
      const auto handled = static_cast<std::uint32_t>(handled_and_dead);
      const auto dead = static_cast<std::uint32_t>(handled_and_dead >> 32);
      receipt.handled += handled;
      receipt.dead += dead;
      receipt.unhandled += static_cast<std::uint32_t>(messages) - handled - dead;
    }
  } few;
  struct Counted {  // where a sink throws too
    RegistryCounters& counters;
    Receipt& all;
    const Few& few;
    ~Counted() {
      few.add_to(all);
      counters.add(all);
    }
  };
  std::size_t taken;
  {
    const Counted counted{counters, all, few};
    MessageRoute* next_route = nullptr;
    taken = input.take(batches_max, [&](const BatchView& batch, const std::byte* next) {
      const BatchHeader& header = batch.header();
      std::uint16_t kind_and_flags;
      std::memcpy(&kind_and_flags, &header.kind, sizeof kind_and_flags);
      MessageRoute* const route = next_route ? next_route : types.route(header.type);
      // Looked for before this batch's calls, which wait for memory: whom the next one calls, often guessed wrong where
      // types come at random, is then known as soon as it is asked.
      next_route = next ? types.route(BatchView(next).type()) : nullptr;
      if (kind_and_flags != plain || !route || route->builtin) [[unlikely]]
        return false;
      envelope.sequence = ++parts.sequence;
      parts.tell_input(envelope, batch.bytes());
      const std::uint32_t count = header.count, item_bytes = header.item_bytes;
      const std::byte* const first = batch.bytes().data() + sizeof(BatchHeader);
      if (count - 1 < Delivery::few_max && item_bytes == route->few_bytes) [[likely]] {
        const ItemCounts counts = Delivery::few_straight(context, *route, first, count);
        few.messages += count;
        few.handled_and_dead += std::bit_cast<std::uint64_t>(counts);
      } else {
        delivery.items(*route, {first, count, item_bytes, header.payload_offset}, all);
      }
      return true;
    });
  }
  all.sequence = sequence;
  if (taken != 0) add_to(sum, all);
  return taken;
}

Receipt EntityRegistry::Impl::deliver_inputs(InputKind last_kind, std::uint64_t author, std::uint64_t request) {
  Receipt sum;
  const std::size_t kept = last_kind == InputKind::post ? 0 : 1;  // the last batch is an input of its own
  input.seal();
  // Where nobody looks at single messages, nothing need be done around them.
  const bool plain = core.receipt_sinks_of(InputKind::post).empty() && !cascade.causes();
  while (!input.empty()) {
    const std::size_t posted = input.batches() - kept;
    const bool gathers = plain && options.gather && posted >= Gather::batches_min;
    if (posted != 0 && plain) {
      Receipt several;
      bool done = gathers && gathering.paused() == 0 && gather(posted, several);
      // Not the last batch, where that is an input of its own.
      const std::size_t plain_max = gathers ? std::min(gathering.paused(), posted) : posted;
      if (!done && !watching()) done = gathering.passed(deliver_plain(plain_max, several));
      if (done) {
        if (last_kind != InputKind::push) add_to(sum, several);
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
    gathering.passed(1);
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

Receipt EntityRegistry::deliver_pushed() {
  return delivering(*impl_, "push", [&] {
    impl_->deliver_carried();
    Receipt receipt = impl_->deliver_inputs(InputKind::push, 0, 0);
    receipt.cut_short = !impl_->deliver_cascade();
    return receipt;
  });
}

void EntityRegistry::tell_receipt(Envelope envelope, Receipt receipt) {
  for (InputSink* sink : core_.receipt_sinks_of(envelope.kind)) sink->on_receipt(envelope, receipt);
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
  tell_receipt(envelope, receipt);
  r.managers.tell_destroyed();
  if (!r.cascade.empty()) [[unlikely]]
    receipt.cut_short = deliver_caused();
  return receipt;
}

Receipt EntityRegistry::end_push(Receipt receipt) {
  if (receipt.handled == 0) core_.counters.add(receipt);
  const Delivering mark(core_.delivering);
  receipt.sequence = core_.sequence;
  tell_receipt(core_.pushed, receipt);
  if (!core_.cascade.empty()) receipt.cut_short = deliver_caused();
  return receipt;
}

Receipt EntityRegistry::end_handled_push() { return end_push({.handled = 1}); }

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
  core_.storage.reserve(ids);
}

Entity EntityRegistry::grant(std::uint32_t count, std::uint64_t author) {
  check_outside();
  known().need<Grant>();
  return delivering(*impl_, "grant", [&] {
    // What waits may take ids: only then is known which are unused.
    impl_->deliver_carried();
    impl_->deliver_inputs(InputKind::post, 0, 0);
    const Entity first{static_cast<std::uint32_t>(core_.storage.ids().indices()), 1};
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

// --- neighbours, life ---

Inbox& EntityRegistry::inbox() noexcept { return impl_->inbox; }
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

EntityRegistry::EntityRegistry(RegistryOptions options) : impl_(std::make_unique<Impl>(*this, options)) {
  core_.context = &impl_->delivery.context();
  impl_->self = std::make_shared<EntityRegistry*>(this);
  core_.storage.on_archetype_context = &core_;
  core_.storage.on_layout = [](void* core, Archetype& archetype) {
    static_cast<RegistryCore*>(core)->types.handlers().bind_again(archetype);
    static_cast<RegistryCore*>(core)->sites.forget();
  };
  core_.storage.on_archetype = [](void* core, Archetype& archetype) {
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
    case RefusalCode::unknown_template: return "unknown_template";
  }
  return "unknown";
}

}  // namespace muster
