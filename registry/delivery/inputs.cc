// Rules that other code relies on:
//
// - Ids for an input are issued after all pending messages have been delivered, so that a replay of
//   the same inputs issues the same ids.
// - Every posted batch is an input. Where a batch ends depends on its contents, never on memory. A
//   flush that has nothing to do is not an input: no sink sees it, and it has no sequence number.
// - The limits on a cascade affect the state, so they are saved with it, and a registry that loads
//   a state uses the saved limits. RegistryOptions::insist_on_bounds refuses a state with other
//   limits. The limits count messages, because batches cannot be observed. A span counts as one
//   message.
// - replay() produces the same state, numbers, and receipts. Besides the bytes, it needs these
//   fields of the envelope: the number of ids issued, the next timer's number, and the number of
//   times that a cut cascade was resumed before the input. It also needs the cuts that time made
//   (CascadeCut), because time is not part of the state.
// - Messages are delivered in the order in which they were pushed, with two exceptions. If the rest
//   of a cut cascade exceeds the limits again, the new input goes before what is still left. And
//   pushes that switch handlers or drop what is carried over (goes_ahead()) do not wait for it, so
//   that a cascade without end can be stopped at once. Both are counted as overtaken.
#include "registry/delivery/inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "messages/require.h"
#include "registry/handlers/thrown.h"

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

/// Batches of kind `each` without flags, which have neither a row set nor causes.
constexpr std::uint16_t plain_each = static_cast<std::uint16_t>(BatchKind::each);

}  // namespace

void RegistryCore::Several::on_input(const Envelope& envelope, std::span<const std::byte> batch) {
  sinks.each_or_undo([&](InputSink& sink) { sink.on_input(envelope, batch); },
                     [&](InputSink& sink) { sink.on_withdrawn(envelope); });
}

void RegistryCore::tell_receipt(const HostEnvelope& envelope, Receipt receipt) {
  receipt_sinks_of(InputKind::push).each([&](InputSink& sink) { sink.on_receipt(envelope.get(), receipt); });
}

// --- one input ---

void Inputs::tell(Envelope& envelope, std::span<const std::byte> bytes) {
  if ((core_.state.resumed | core_.drawn) != 0) [[unlikely]]
    return tell_after_more(envelope, bytes);
  if (envelope.kind == InputKind::post) envelope.next_timer = next_timer_;
  core_.tell(envelope, bytes);
  if (core_.state.cascade.causes()) [[unlikely]]
    delivery_.number_messages(envelope.sequence);
}

void Inputs::tell_after_more(Envelope& envelope, std::span<const std::byte> bytes) {
  envelope.resumed = core_.state.resumed;
  envelope.drawn = core_.drawn;
  envelope.next_timer = envelope.kind == InputKind::post ? next_timer_ : 0;
  core_.tell(envelope, bytes);
  core_.state.resumed = core_.drawn = 0;
  core_.general_way &= ~RegistryCore::was_resumed;
  if (core_.state.cascade.causes()) delivery_.number_messages(envelope.sequence);
}

template <class Deliver>
Receipt Inputs::live(Envelope& envelope, std::span<const std::byte> bytes, Deliver&& deliver) {
  tell(envelope, bytes);
  Receipt receipt{.sequence = envelope.sequence};
  deliver(receipt);
  settle(envelope, receipt);
  return receipt;
}

Receipt Inputs::live(InputKind kind, const BatchView& batch, const Sender& by) {
  Envelope envelope{.session = by.session, .user = by.user, .request = by.request, .kind = kind};
  return live(envelope, batch.bytes(), [&](Receipt& receipt) { deliver(batch, envelope, receipt); });
}

void Inputs::deliver(const BatchView& batch, const Envelope& envelope, Receipt& receipt) {
  const std::uint64_t begin_ns = begin_batch(), first = delivery_.next_number();
  const Structure::EditedBy edited(structure_, {envelope.session, envelope.user, envelope.request, envelope.sequence});
  if (MessageRoute* route = core_.types.route(batch.type()); batch.kind() == BatchKind::each && route) [[likely]] {
    delivery_.each(batch, *route, 0, batch.count(), receipt);
  } else if ((envelope.kind == InputKind::inbox || envelope.session != 0) && batch.kind() == BatchKind::timed &&
             batch.timer() != 0) {
    receipt.refused = 1;  // only the registry assigns timer ids
    receipt.refusal = {RefusalCode::timer_chosen, {}, batch.type()};
  } else {
    BatchCursor all;
    delivery_.deliver(batch, all, ~std::uint64_t{0}, receipt);
  }
  if (observer_) [[unlikely]]
    observer_->add_batch(batch, batch.kind() == BatchKind::shared ? 1 : batch.count(), receipt, true, begin_ns,
                         {.first = first});
}

void Inputs::settle(const Envelope& envelope, const Receipt& receipt) {
  core_.count(receipt);
  tell_receipt(envelope, receipt);
  managers_.tell_destroyed();
}

std::uint64_t Inputs::begin_batch() {
  if (!observer_) [[likely]]
    return 0;
  observer_->next_call();
  return steady_ns();
}

void Inputs::delivery_failed() noexcept {
  const Handler* const handler = core_.running_straight() ? core_.running_straight() : delivery_.running();
  const auto failed = [&](std::string_view what) {
    if (handler) handler_threw(*handler, core_.types, what);
    fatal("an input could not be delivered completely: " + std::string(what));
  };
  try {
    throw;
  } catch (const std::exception& error) {
    failed(error.what());
  } catch (...) {
    failed("an unknown exception");
  }
  std::terminate();
}

void Inputs::drop_archetypes() {
  if (core_.state.storage.drop_idle_archetypes()) delivery_.forget_plans();
}

void Inputs::find_waiting(TextMentions& texts) const {
  core_.state.input.for_each([&](const BatchView& batch) { texts.in(batch); });
  BatchCursor delivered = cursor_;
  core_.state.cascade.for_each([&](const BatchView& batch) {
    texts.in(batch, delivered.message, delivered.offset);
    delivered = {};
  });
}

// --- entry points ---

void Inputs::wait_over() {
  inside("push", [&] { return deliver_waiting(); });
}

Receipt Inputs::push_new(std::span<Entity> ids, bool waited) {
  std::optional<Storage::Drawn> before;
  try {
    return push(
        [&](Arena& pushing) {
          before = core_.state.storage.drawn();
          core_.state.storage.reserve(ids);
          core_.drawn = static_cast<std::uint32_t>(ids.size());
          pushing.set_targets(ids);
        },
        waited);
  } catch (...) {
    if (before) undraw(*before);
    throw;
  }
}

void Inputs::undraw(const Storage::Drawn& before) noexcept {
  core_.state.storage.undraw(before);
  core_.drawn = 0;
}

Receipt Inputs::push_batches(std::span<const std::byte> bytes, const Sender& by) {
  // Usually there is only one batch. The receipt contains the totals of all batches.
  if (bytes.size() >= sizeof(BatchHeader)) [[likely]] {
    const BatchView first(bytes);
    const BatchHeader& header = first.header();
    if (header.bytes == bytes.size()) {
      std::uint16_t kind_and_flags;
      std::memcpy(&kind_and_flags, &header.kind, sizeof kind_and_flags);
      if (kind_and_flags == plain_each && by.session != 0 && header.count - 1 < Delivery::few_max && core_.is_quiet())
          [[likely]]
        if (const MessageRoute* route = core_.types.route(header.type);
            route && !route->builtin && header.item_bytes == route->few_bytes)
          return push_few(first, *route, by);
      return push_batch(first, by);
    }
  }
  Receipt sum{.sequence = core_.state.sequence};
  for_each_batch(bytes, [&](const BatchView& batch) {
    const Receipt one = push_batch(batch, by);
    add_to(sum, one);
    sum.cut_short = one.cut_short;
  });
  return sum;
}

Receipt Inputs::push_few(const BatchView& batch, const MessageRoute& route, const Sender& by) {
  const InInput mark(core_, Inside::handlers);
  core_.sink_threw = false;
  Receipt receipt;
  try {
    Envelope envelope{.session = by.session, .user = by.user, .request = by.request, .kind = InputKind::push};
    tell(envelope, batch.bytes());
    const BatchHeader& header = batch.header();
    const ItemCounts counts =
        Delivery::few_straight(delivery_.context(), route, batch.bytes().data() + sizeof header, header.count);
    core_.context->entity = 0;
    receipt.sequence = envelope.sequence;
    receipt.handled = counts.handled;
    receipt.dead = counts.dead;
    receipt.unhandled = header.count - counts.handled - counts.dead;
    settle(envelope, receipt);
    receipt.cut_short = !end_call();
  } catch (...) {
    core_.context->entity = 0;
    if (!core_.sink_threw) delivery_failed();
    throw;
  }
  return receipt;
}

Receipt Inputs::push_batch(const BatchView& batch, const Sender& by) {
  return inside("push_batch", [&] {
    bool ahead = false;
    if (!core_.state.cascade.empty() || !core_.state.input.empty()) [[unlikely]] {
      ahead = is_ahead(batch);
      deliver_waiting(ahead);
    }
    Envelope envelope{.session = by.session, .user = by.user, .request = by.request, .kind = InputKind::push};
    const Storage::Drawn before = core_.state.storage.drawn();
    if (by.session == 0) core_.drawn = claim_ids(batch);
    Receipt receipt;
    try {
      receipt = live(envelope, batch.bytes(), [&](Receipt& own) {
        if (by.session == 0) claim_timer(batch);
        deliver(batch, envelope, own);
      });
    } catch (...) {
      undraw(before);
      throw;
    }
    receipt.cut_short = !end_call(ahead);
    return receipt;
  });
}

Receipt Inputs::end_push(Receipt receipt) {
  return inside("push", [&] {
    receipt.sequence = core_.state.sequence;
    settle(core_.pushed.get(), receipt);
    receipt.cut_short = !end_call();
    return receipt;
  });
}

Receipt Inputs::flush() {
  return inside("flush", [&] {
    Receipt sum{.sequence = core_.state.sequence};
    const bool waited = !core_.state.cascade.empty() || !core_.state.input.empty();
    add_to(sum, deliver_waiting());
    const std::size_t arrived = inbox_.drain([&](const Sender& by, std::span<const std::byte> bytes) {
      add_to(sum, live(InputKind::inbox, BatchView(bytes), by));
    });
    sum.sequence = core_.state.sequence;
    if (!waited && arrived == 0) return sum;
    tell_flush(sum);
    return sum;
  });
}

void Inputs::tell_flush(Receipt& sum) {
  Envelope envelope{.kind = InputKind::flush};
  tell(envelope, {});
  sum.sequence = envelope.sequence;
  sum.cut_short = !end_call();
}

Receipt Inputs::advance(std::uint64_t ns) {
  return inside("advance", [&] {
    Receipt sum = deliver_waiting();
    struct Emptied {
      BatchBuilder& batch;
      ~Emptied() { batch.clear(); }
    };
    const Emptied emptied{core_.timed};
    core_.timed.append_world(Advance{.ns = ns});
    add_to(sum, live_advance(core_.timed.front()));
    sum.cut_short = !core_.state.cascade.empty();
    return sum;
  });
}

Receipt Inputs::live_advance(const BatchView& batch) {
  Advance message;
  std::memcpy(&message, batch.payload(0), sizeof message);
  const Receipt receipt = live(InputKind::advance, batch);
  deliver_cascade();
  const std::uint64_t until = later(now_ns_, message.ns);
  while (!timers_.empty() && timers_.next_due() <= until) {
    const std::uint64_t due = timers_.next_due();
    now_ns_ = std::max(now_ns_, due);
    while (!timers_.empty() && timers_.next_due() == due)
      timers_.pop([&](const BatchView& timed) { core_.state.cascade.append_batch(timed.inner()); });
    core_.state.cascade.seal();
    deliver_cascade();
  }
  now_ns_ = until;
  clean_up();
  return receipt;
}

Receipt Inputs::replay(const Envelope& recorded, std::span<const std::byte> bytes, bool timed) {
  return inside("replay", [&] {
    struct Replaying {
      bool& on;
      ~Replaying() { on = false; }
    };
    const Replaying replaying{replaying_};
    replaying_ = !timed;
    // A loaded state may already have been resumed after its last input.
    while (core_.state.resumed < recorded.resumed && !core_.state.cascade.empty()) resume();
    const BatchView batch(bytes);
    Receipt receipt;
    const auto live_again = [&] {
      const Storage::Drawn before = core_.state.storage.drawn();
      for (std::uint32_t i = 0; i < recorded.drawn; ++i) core_.state.storage.reserve();
      core_.drawn = recorded.drawn;
      if (recorded.next_timer != 0) next_timer_ = recorded.next_timer;
      try {
        Envelope envelope{
            .session = recorded.session, .user = recorded.user, .request = recorded.request, .kind = recorded.kind};
        receipt = live(envelope, bytes, [&](Receipt& own) {
          if (bytes.empty()) return;  // the batch was not recorded
          if (recorded.kind == InputKind::push && recorded.session == 0) claim_timer(batch);
          deliver(batch, recorded, own);
        });
      } catch (...) {
        undraw(before);
        throw;
      }
    };
    switch (recorded.kind) {
      case InputKind::push: {
        const bool ahead = !bytes.empty() && recorded.resumed == 0 && is_ahead(batch);
        live_again();
        receipt.cut_short = !end_call(ahead);
        break;
      }
      case InputKind::post:
      case InputKind::inbox: live_again(); break;
      case InputKind::flush: tell_flush(receipt); break;
      case InputKind::advance:
        receipt = live_advance(batch);
        receipt.cut_short = !core_.state.cascade.empty();
        break;
    }
    return receipt;
  });
}

void Inputs::claim_timer(const BatchView& batch) {
  if (batch.kind() == BatchKind::timed && batch.timer() >= next_timer_) next_timer_ = batch.timer() + 1;
}

std::uint32_t Inputs::claim_ids(const BatchView& batch) {
  if ((batch.type() != TypeTraits<Create>::id && !is_tree(batch.type())) ||
      (batch.kind() != BatchKind::each && batch.kind() != BatchKind::shared))
    return 0;
  std::uint32_t drawn = 0;
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    if (batch.target(i) != core_.state.storage.ids().peek()) continue;
    core_.state.storage.reserve();
    ++drawn;
  }
  return drawn;
}

// --- waiting messages ---

Receipt Inputs::deliver_waiting(bool ahead) {
  if (!core_.state.cascade.empty() && !ahead) resume();
  return core_.state.input.empty() ? Receipt{} : deliver_posts();
}

void Inputs::resume() {
  ++core_.state.resumed;
  core_.general_way |= RegistryCore::was_resumed;
  if (!deliver_caused(core_.state.resumed)) ++core_.state.counters.overtaken;
}

Receipt Inputs::deliver_posts() {
  Receipt sum;
  Arena& posts = core_.state.input;
  posts.seal();
  const bool plain = options_.shortcuts && !observer_ && !core_.state.cascade.causes() &&
                     core_.receipt_sinks_of(InputKind::post).empty();
  while (!posts.empty()) {
    if (plain && core_.state.resumed == 0 && deliver_plain(sum) != 0) continue;
    add_to(sum, live(InputKind::post, posts.front()));
    posts.pop_front();
  }
  posts.give_back();
  return sum;
}

std::size_t Inputs::deliver_plain(Receipt& sum) {
  RegistryCore& core = core_;
  RunContext& context = delivery_.context();
  Envelope envelope{.kind = InputKind::post};
  Receipt all;
  struct Few {
    std::uint64_t messages = 0, handled_and_dead = 0;  // the latter as two 32-bit halves
    void add_to(Receipt& receipt) const noexcept {
      const auto handled = static_cast<std::uint32_t>(handled_and_dead);
      const auto dead = static_cast<std::uint32_t>(handled_and_dead >> 32);
      receipt.handled += handled;
      receipt.dead += dead;
      receipt.unhandled += static_cast<std::uint32_t>(messages) - handled - dead;
    }
  } few;
  struct Counted {  // updates the counts even if a sink throws
    RegistryCore& core;
    Receipt& all;
    const Few& few;
    ~Counted() {
      few.add_to(all);
      core.count(all);
    }
  };
  std::size_t taken;
  {
    const Counted counted{core, all, few};
    MessageRoute* next_route = nullptr;
    taken = core.state.input.take(core.state.input.batches(), [&](const BatchView& batch, const std::byte* next) {
      const BatchHeader& header = batch.header();
      std::uint16_t kind_and_flags;
      std::memcpy(&kind_and_flags, &header.kind, sizeof kind_and_flags);
      MessageRoute* const route = next_route ? next_route : core.types.route(header.type);
      // Look up the next route before making this batch's calls, which wait for memory. The
      // processor then knows the target of the next call in time. Otherwise, it would often
      // mispredict the target if types are in random order.
      next_route = next ? core.types.route(BatchView(next).type()) : nullptr;
      if (kind_and_flags != plain_each || !route || route->builtin) [[unlikely]]
        return false;
      core.tell(envelope, batch.bytes());
      const std::uint32_t count = header.count, item_bytes = header.item_bytes;
      const std::byte* const first = batch.bytes().data() + sizeof(BatchHeader);
      if (count - 1 < Delivery::few_max && item_bytes == route->few_bytes) [[likely]] {
        const ItemCounts counts = Delivery::few_straight(context, *route, first, count);
        few.messages += count;
        few.handled_and_dead += std::bit_cast<std::uint64_t>(counts);
      } else {
        delivery_.items(*route, {first, count, item_bytes, header.payload_offset}, all);
      }
      return true;
    });
  }
  all.sequence = core.state.sequence;
  if (taken != 0) add_to(sum, all);
  return taken;
}

}  // namespace muster
