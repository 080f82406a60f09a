// The parts of a registry that its inlined calls use, and its bounds and counters. What every input goes through, whichever way it
// comes in, stands here once: tell() numbers it and shows it to the sinks, count() counts what became of it.
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

/// Bounds and counters of one registry.
struct RegistryOptions {
  // What handlers of one input may cause, in messages and in bytes of their payloads; the rest is carried over. Of a new registry:
  // they decide state, are saved with it, and one that is loaded has those it was saved with.
  std::uint64_t cascade_messages_max = 10'000'000;
  std::uint64_t cascade_bytes_max = 128u << 20;
  /// True: state that was saved with other bounds is not loaded; the error names both.
  bool insist_on_bounds = false;
  /// False: every input goes the general way (registry/delivery/inputs.h), which the shortcuts must equal. For tests; no result
  /// depends on it.
  bool shortcuts = true;
  Executor* executor = nullptr;  ///< see set_executor
  /// A pass that is expected to take less, judging by its rows and by what they took lately, runs on one worker; 0: every
  /// pass is spread over them, for tests. No result depends on it.
  std::uint64_t pass_serial_below_ns = 40'000;
  /// Memory of queued messages is allocated in segments of so many bytes: a multiple of 64, at least 1024. After a storm all but 64 of
  /// them are given back, where a queue holds more than 256. No result depends on it.
  std::size_t segment_bytes = Arena::segment_bytes_default;
  /// Receives a sentence about a probable mistake, inside the call that finds it. In flush() and advance(): names in the
  /// options of handlers that mean nothing. In any call that delivers: the first cascade that is cut short. Must not
  /// throw, nor use the registry. Null: the sentence goes to standard error, after "muster: ".
  std::function<void(const std::string&)> on_warning = {};
  /// Gives a sentence to on_warning, or to standard error.
  void warn(const std::string& sentence) const;
};
/// The parts of a registry that its inlined calls use. Owned by the registry.
struct RegistryCore {
  explicit RegistryCore(const RegistryOptions& options)
      : state(std::make_shared<ComponentTypes>(), options.segment_bytes) {
    state.bounds = {options.cascade_messages_max, options.cascade_bytes_max};
  }
  Shown<Inside> inside = Inside::nobody;           // see InInput
  Shown<std::uint64_t> pushed_to = 0;              // bits of the last push's target that went straight to a handler
  std::uint64_t general_way = 0;                   // reasons why pushes take the general way
  static constexpr std::uint64_t observed = 1;     // somebody counts or follows deliveries, or there are no shortcuts
  static constexpr std::uint64_t was_resumed = 2;  // `state.resumed` is not 0
  bool told_pushes = false;                        // somebody looks at the receipts of pushes
  bool sink_threw = false;                   // what is being thrown came from a sink, and its input did not happen
  std::uint32_t drawn = 0;                   // that of the next input's envelope
  Envelope pushed{.kind = InputKind::push};  // of the push in progress that goes straight to a handler or row
  Envelope created{.kind = InputKind::push, .drawn = 1};  // likewise, of one that creates
  SingleBatch<Destroy> destroyed{Entity{}, Destroy{}};    // the last one's bytes, for the next
  InputSink* told = nullptr;  // of the inputs: the one sink, or several_, which tells all; null where there is none
  std::vector<InputSink*> sinks;
  std::array<std::vector<InputSink*>, input_kinds> receipt_sinks;  // those of them that look at receipts, by kind
  const std::vector<InputSink*>& receipt_sinks_of(InputKind kind) const noexcept {
    return receipt_sinks[static_cast<std::size_t>(kind)];
  }
  /// To be called when sinks came or went.
  void note_sinks() noexcept {
    told = sinks.empty() ? nullptr : sinks.size() == 1 ? sinks.front() : &several_;
    told_pushes = !receipt_sinks_of(InputKind::push).empty();
  }
  /// Gives an input its number and shows it to the sinks. Throws what a sink throws: then the number is not taken, and the sinks
  /// that had been told were told that nothing came of it.
  void tell(Envelope& envelope, std::span<const std::byte> batch) {
    if (InputSink* const sink = told) return tell_to(*sink, envelope, batch);
    number();
    envelope.sequence = state.sequence;
  }
  /// The two halves of tell(), for inputs whose envelope nobody looks at where there is no sink. `sink` is `told`.
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
  [[gnu::always_inline]] void number() noexcept { state.sequence.step(); }
  /// Counts what became of an input's messages, or of messages that handlers pushed.
  [[gnu::always_inline]] void count(const Receipt& receipt) noexcept { state.counters.add(receipt); }
  Receipt ended;                  // of the last push that went straight to a handler and was not at its end with it
  RunContext* context = nullptr;  // Delivery's: what a handler's call may reach
  Arena pushing{4096};            // the one batch of a push that waits for what was posted before it; otherwise empty
  RegistryState state;            // never elsewhere; its contents may be exchanged
  TypesKnown types{state.storage, state.handlers};
  RowSites sites;
  std::array<WorkerCall, 16> workers;  // of a pass that is spread, by their number as far as there is room

  /// Outside handlers, and nothing waits: a push need not go through the queue.
  bool is_quiet() const noexcept {
    return (static_cast<std::uint64_t>(inside.get()) | general_way | state.input.batches() | state.cascade.batches()) ==
           0;
  }
  /// The handler that a push has called straight; null: it is not that.
  const Handler* running_straight() const noexcept { return handler_in(inside); }
  /// Whether a handler's push is not at its end with the handler: somebody looks at its receipt, or the handler pushed.
  bool more_follows() const noexcept { return (static_cast<std::size_t>(told_pushes) | state.cascade.batches()) != 0; }

 private:
  /// Tells all sinks. Where one throws, those before it hear that nothing came of it.
  struct Several final : InputSink {
    explicit Several(const std::vector<InputSink*>& all) : sinks(all) {}
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override;  // registry/delivery/inputs.cc
    const std::vector<InputSink*>& sinks;
  };
  Several several_{sinks};
};

/// While it lives, handlers (or the hooks named) are being called, and the registry may not be used by them.
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
