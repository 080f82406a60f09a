// The parts of a registry that its inlined calls use, and its limits and counters. Every input
// passes through here: tell() numbers it and shows it to the sinks; count() counts its results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "messages/arena.h"
#include "messages/single_batch.h"
#include "registry/apply/receipt.h"
#include "registry/apply/registry_state.h"
#include "registry/apply/row_sites.h"
#include "registry/delivery/input_sink.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/types_known.h"
#include "schema/muster.h"

namespace muster {

class Executor;

/// Limits and settings of a registry.
struct RegistryOptions {
  // Limits on the messages that the handlers of one input may push, by number and by payload bytes;
  // the rest is carried over. The limits apply to new registries. They affect state and are saved
  // with it, so a loaded registry has the saved limits.
  std::uint64_t cascade_messages_max = 10'000'000;
  std::uint64_t cascade_bytes_max = 128u << 20;
  /// If true, state saved with different limits is not loaded; the error names both.
  bool insist_on_bounds = false;
  /// If false, every input takes the general way (registry/delivery/inputs.h), to which shortcuts
  /// must be equivalent. For tests; no result depends on it.
  bool shortcuts = true;
  Executor* executor = nullptr;  ///< see set_executor

  /// Passes expected to take less than this, judging by their rows and recent times, run on one
  /// worker. 0 means that every pass is spread, for tests. No result depends on it.
  std::uint64_t pass_serial_below_ns = 40'000;
  /// Memory for queued messages is allocated in segments of this size: a multiple of 64, at least
  /// 1024. After a burst, all but 64 segments are released if a queue holds more than 256. No
  /// result depends on it.
  std::size_t segment_bytes = Arena::segment_bytes_default;
  /// Receives a sentence about a probable mistake, inside the call that finds it: in flush() and
  /// advance(), unknown names in the options of handlers; in any call that delivers, the first
  /// cascade that is cut short. Must not throw or use the registry. If null, the sentence goes to
  /// standard error, after "muster: ".
  std::function<void(const std::string&)> on_warning = {};
  /// Passes a sentence to on_warning, or prints it to standard error.
  void warn(const std::string& sentence) const;
};
/// The envelope of the host's own push, which cannot name a session.
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
    state.bounds = {options.cascade_messages_max, options.cascade_bytes_max};
  }
  Shown<Inside> inside = Inside::nobody;  // see InInput

  // Bits of the target of the last push that called a handler directly.
  Shown<std::uint64_t> pushed_to = 0;
  std::uint64_t general_way = 0;                   // reasons why pushes take the general way
  static constexpr std::uint64_t observed = 1;     // deliveries are observed, or shortcuts are off
  static constexpr std::uint64_t was_resumed = 2;  // `state.resumed` is not 0
  bool told_pushes = false;                        // true if a sink wants the receipts of pushes

  // The exception in flight came from a sink, and its input did not happen.
  bool sink_threw = false;
  std::uint32_t drawn = 0;  // Envelope::drawn of the next input
  // Envelopes of the current push that directly calls a handler or changes a row.
  HostEnvelope pushed;
  HostEnvelope created{1};  // for a push that creates an entity
  // The bytes of the last Destroy push, reused for the next one.
  SingleBatch<Destroy> destroyed{Entity{}, Destroy{}};
  // The sink that sees the inputs: the only sink, or several_, which calls all sinks. Null if there
  // is no sink.
  InputSink* told = nullptr;
  std::vector<InputSink*> sinks;
  // Sinks that want receipts, by kind of input.
  std::array<std::vector<InputSink*>, input_kinds> receipt_sinks;
  const std::vector<InputSink*>& receipt_sinks_of(InputKind kind) const noexcept {
    return receipt_sinks[static_cast<std::size_t>(kind)];
  }
  /// Must be called after sinks were added or removed.
  void note_sinks() noexcept {
    told = sinks.empty() ? nullptr : sinks.size() == 1 ? sinks.front() : &several_;
    told_pushes = !receipt_sinks_of(InputKind::push).empty();
  }
  /// Numbers an input and shows it to the sinks. If a sink throws, passes the exception on; the
  /// number is not used, and on_withdrawn is called for the sinks that saw the input.
  void tell(Envelope& envelope, std::span<const std::byte> batch) {
    if (InputSink* const sink = told) return tell_to(*sink, envelope, batch);
    number();
    envelope.sequence = state.sequence;
  }
  /// The two halves of tell(), for inputs whose envelope is needed only if there is a sink. `sink`
  /// must be `told`.
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
  /// Shows the receipt of a host's call to the sinks that want it. Takes the receipt by value, so
  /// that the caller's copy need not be in memory.
  void tell_receipt(const HostEnvelope& envelope, Receipt receipt) const;  // inputs.cc
  [[gnu::always_inline]] void number() noexcept { state.sequence.step(); }
  /// Counts the results of an input's messages, or of messages that handlers pushed.
  [[gnu::always_inline]] void count(const Receipt& receipt) noexcept { state.counters.add(receipt); }
  // Receipt of the last direct push to a handler that needed more steps afterwards.
  Receipt ended;
  RunContext* context = nullptr;  // owned by Delivery: objects that a handler's call may use

  // The one batch of a push that waits for posted messages; otherwise empty.
  Arena pushing{4096};
  RegistryState state;  // never moves; its contents may be exchanged
  TypesKnown types{state.storage, state.handlers};
  RowSites sites;
  // Calls of the workers in a parallel pass, by worker number. Workers with higher numbers have no
  // entry.
  std::array<WorkerCall, 16> workers;

  /// True outside handlers while nothing is waiting. A push then need not go through the queue.
  bool is_quiet() const noexcept {
    return (static_cast<std::uint64_t>(inside.get()) | general_way | state.input.batches() | state.cascade.batches()) ==
           0;
  }
  /// The handler that a push called directly, or null.
  const Handler* running_straight() const noexcept { return handler_in(inside); }
  /// True if a push needs more steps after its handler: a sink wants the receipt, or the handler
  /// pushed.
  bool more_follows() const noexcept { return (static_cast<std::size_t>(told_pushes) | state.cascade.batches()) != 0; }

 private:
  /// Calls all sinks. If a sink throws, calls on_withdrawn of the sinks before it, because the
  /// input does not happen.
  struct Several final : InputSink {
    explicit Several(const std::vector<InputSink*>& all) : sinks(all) {}
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;  // inputs.cc
    const std::vector<InputSink*>& sinks;
  };
  Several several_{sinks};
};

/// Marks that handlers (or the hooks named by `who`) are being called and must not use the
/// registry.
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
