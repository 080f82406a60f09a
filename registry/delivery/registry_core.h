// The parts of a registry that are used by its inlined calls, together with the registry's limits
// and counters. Every input passes through here: tell() numbers it and shows it to the sinks, and
// count() counts its results.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "messages/single_batch.h"
#include "registry/apply/receipt.h"
#include "registry/apply/registry_state.h"
#include "registry/apply/row_sites.h"
#include "registry/delivery/input_sink.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/types_known.h"
#include "schema/muster.h"
#include "schema/table.h"

namespace muster {

class Executor;

struct SyncDifference;  // registry/moments/synctest.h

/// Limits and settings of a registry.
struct RegistryOptions {
  // Limits on the messages that the handlers of a single input may push, by number and by payload
  // bytes. Messages beyond a limit are carried over. The limits apply to new registries. They
  // affect the state and are saved with it, so a loaded registry uses the saved limits.
  std::uint64_t cascade_messages_max = 10'000'000;
  std::uint64_t cascade_bytes_max = 128u << 20;
  // Limits on the messages that wait in a cascade, over any number of inputs, by number and by
  // payload bytes. Each is at least 1. If more messages wait, the newest are dropped, and counted
  // in RegistryCounters::dropped. The limits are applied before and after the messages of a cascade
  // are delivered, and after every 8192 of them, so the queue also holds what the handlers of 8192
  // messages, or of one pass, post. They are saved like the limits above.
  std::uint64_t carried_messages_max = CascadeBounds{}.carried_messages_max;
  std::uint64_t carried_bytes_max = CascadeBounds{}.carried_bytes_max;
  /// Limit on the time that cascades take, in ns; 0 means none. It holds for each call, or from one
  /// RegistryHost::begin_turn to the next. When the time is over, the rest of a cascade is carried
  /// over, and InputSink::on_cut receives the number of messages delivered, with which a replay has
  /// the same results. The limit is checked after every 8192 messages or about every millisecond,
  /// whichever is first; a handler is never interrupted.
  std::uint64_t cascade_ns_max = 0;
  /// If true, a state that was saved with different limits is not loaded, and the error names both
  /// the saved limits and the registry's own.
  bool insist_on_bounds = false;
  /// If false, every input takes the general path (registry/delivery/inputs.h), to which all
  /// shortcuts must be equivalent. Intended for tests. The results do not depend on this setting.
  bool shortcuts = true;
  Executor* executor = nullptr;  ///< see RegistryHost::set_executor
  /// If not 0, the handlers of a message that neither before, after nor priority puts in order run
  /// in an order that is drawn from this number, instead of in the order of their names. A number
  /// draws one order, in every process. Intended for tests: results that depend on this setting
  /// depend on an order that the program never asked for.
  std::uint64_t shuffle_unordered = 0;
  /// If not null, every tick is done twice: each advance() first returns to the advance() before
  /// and does the inputs since then again (registry/moments/synctest.h). Receives what differs, on
  /// the registry's thread. Must not change the registry. on_warning receives the reasons why ticks
  /// could not be done twice, each once. Intended for tests.
  std::function<void(const SyncDifference&)> on_sync_difference = {};

  /// A pass runs on a single worker if, based on its rows and on recent times, it is expected to
  /// take less than this time. If 0, every pass is spread; intended for tests. The results do not
  /// depend on this setting.
  std::uint64_t pass_serial_below_ns = 40'000;
  /// The size of the segments in which memory for queued messages is allocated; must be a multiple
  /// of 64 and at least 1024. The results do not depend on this setting.
  std::size_t segment_bytes = Arena::segment_bytes_default;
  /// Receives a sentence about a probable mistake, during the call that detects it. flush() and
  /// advance() report unknown names in the options of handlers. Any call that delivers messages
  /// reports a cascade that is cut short, and messages that are dropped, each once until all
  /// messages have been delivered, and at most once a second. The function must not throw or use
  /// the registry. If it is null, the sentence is written to standard error, prefixed with "muster:
  /// ".
  std::function<void(const std::string&)> on_warning = {};
  /// Passes a sentence to on_warning, or prints it to standard error.
  void warn(const std::string& sentence) const;
};
/// The envelope of a push by the host itself, which cannot name a session.
class HostEnvelope {
 public:
  explicit HostEnvelope(std::uint32_t drawn = 0) noexcept : envelope_{.kind = InputKind::push, .drawn = drawn} {}
  const Envelope& get() const noexcept { return envelope_; }

 private:
  friend struct RegistryCore;
  Envelope envelope_;
};

/// The parts of a registry that its inlined calls use. Owned by the registry.
struct RegistryCore {
  explicit RegistryCore(const RegistryOptions& options)
      : state(std::make_shared<ComponentTypes>(), options.segment_bytes) {
    state.bounds = {options.cascade_messages_max, options.cascade_bytes_max,
                    std::max<std::uint64_t>(options.carried_messages_max, 1),
                    std::max<std::uint64_t>(options.carried_bytes_max, 1)};
  }
  Shown<Inside> inside = Inside::nobody;  // see InInput

  // Entity::bits() of the target of the latest push that called a handler directly.
  Shown<std::uint64_t> pushed_to = 0;
  std::uint64_t general_way = 0;                   // reasons why pushes must take the general path
  static constexpr std::uint64_t observed = 1;     // deliveries are observed, or shortcuts are off
  static constexpr std::uint64_t was_resumed = 2;  // `state.resumed` is not 0
  bool told_pushes = false;                        // true if any sink wants the receipts of pushes

  // True if the exception in flight was thrown by a sink, so that its input did not take place.
  bool sink_threw = false;
  std::uint32_t drawn = 0;  // Envelope::drawn of the next input
  // Envelope of the current push, if it directly calls a handler or changes a row.
  HostEnvelope pushed;
  HostEnvelope created{1};  // for a push that creates an entity
  // The bytes of the previous Destroy push, which are reused for the next one.
  SingleBatch<Destroy> destroyed{Entity{}, Destroy{}};
  // The sink that sees the inputs: either the only sink, or several_, which calls all sinks. Null
  // if there are no sinks.
  InputSink* told = nullptr;
  struct Sinks {
    SinkList all;
    // The sinks that want receipts, indexed by the kind of input.
    std::array<SinkList, input_kinds> of_receipts;
  };
  Sinks sinks;
  Sinks quiet_sinks;        // all sinks while `quiet` is not 0; `sinks` is then empty
  std::uint32_t quiet = 0;  // number of QuietInputs
  SinkList& receipt_sinks_of(InputKind kind) noexcept { return sinks.of_receipts[static_cast<std::size_t>(kind)]; }
  /// Must be called after sinks were added or removed.
  void note_sinks() noexcept {
    told = sinks.all.empty() ? nullptr : sinks.all.size() == 1 ? &sinks.all.front() : &several_;
    told_pushes = !receipt_sinks_of(InputKind::push).empty();
  }
  /// Numbers an input and shows it to the sinks. If a sink throws an exception, propagates the
  /// exception; in that case, the number is not used, and on_withdrawn is called for the sinks that
  /// saw the input.
  void tell(Envelope& envelope, std::span<const std::byte> batch) {
    if (InputSink* const sink = told) return tell_to(*sink, envelope, batch);
    number();
    envelope.sequence = state.sequence;
  }
  /// The two halves of tell(), for inputs that need an envelope only if there is a sink. `sink`
  /// must equal `told`.
  [[gnu::always_inline]] void tell_to(InputSink& sink, Envelope& envelope, std::span<const std::byte> batch) {
    envelope.sequence = state.sequence + 1;
    try {
      sink.on_input(envelope, batch);
    } catch (...) {
      sink_threw = true;
      throw;
    }
    state.sequence = envelope.sequence;
  }
  [[gnu::always_inline]] void tell_to(InputSink& sink, HostEnvelope& envelope, std::span<const std::byte> batch) {
    tell_to(sink, envelope.envelope_, batch);
  }
  /// Shows the receipt of a host's call to the sinks that want it. The receipt is passed by value,
  /// so that the caller's copy does not have to be in memory.
  void tell_receipt(const HostEnvelope& envelope, Receipt receipt);  // inputs.cc
  [[gnu::always_inline]] void number() noexcept { state.sequence.step(); }
  /// Counts the results of an input's own messages, or of messages that handlers posted.
  [[gnu::always_inline]] void count(const Receipt& receipt) noexcept { state.counters.add(receipt); }
  // The receipt of the previous direct push whose handler required further steps.
  Receipt ended;
  RunContext* context = nullptr;  // owned by Delivery; the objects that a handler may use during a
                                  // call

  // The single batch of a push while the push waits for posted messages to be delivered. Otherwise
  // empty.
  Arena pushing{4096};
  BatchBuilder timed;   // the message of a post_at() or advance() while the call begins
  TableBuffer tables;   // the table of a push or post while it is copied into a batch
  RegistryState state;  // has a fixed address, but its contents may be exchanged
  TypesKnown types{state.storage, state.handlers};
  RowSites sites;
  // The workers' calls in a parallel pass, indexed by worker number. Workers whose numbers are too
  // high for the array have no entry.
  std::array<WorkerCall, 16> workers;

  /// True if no handler is running and no messages are pending. A push can then bypass the queue.
  bool is_quiet() const noexcept {
    return (static_cast<std::uint64_t>(inside.get()) | general_way | state.input.batches() | state.cascade.batches()) ==
           0;
  }
  /// Returns the handler that a push called directly, or null.
  const Handler* running_straight() const noexcept { return handler_in(inside); }
  /// True if a push requires further steps after its handler, because a sink wants the receipt or
  /// the handler posted messages.
  bool more_follows() const noexcept { return (static_cast<std::size_t>(told_pushes) | state.cascade.batches()) != 0; }

 private:
  /// Calls all sinks. If a sink throws an exception, the input does not take place, and
  /// on_withdrawn is called for the sinks before it.
  struct Several final : InputSink {
    explicit Several(SinkList& all) : sinks(all) {}
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;  // inputs.cc
    SinkList& sinks;
  };
  Several several_{sinks.all};
};

/// While this object exists, handlers (or the hooks named by `who`) are being called and must not
/// use the registry.
class InInput {
 public:
  explicit InInput(RegistryCore& core, Inside who = Inside::handlers) noexcept : inside_(core.inside) { inside_ = who; }
  ~InInput() { inside_ = Inside::nobody; }
  InInput(const InInput&) = delete;
  InInput& operator=(const InInput&) = delete;

 private:
  Shown<Inside>& inside_;
};

}  // namespace muster
