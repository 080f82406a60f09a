// The parts of a registry that its inlined calls use, and its bounds and counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/arena.h"
#include "messages/single_batch.h"
#include "registry/apply/receipt.h"
#include "registry/apply/row_sites.h"
#include "registry/delivery/executor.h"
#include "registry/delivery/input_sink.h"
#include "registry/handlers/handler.h"
#include "registry/handlers/types_known.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/storage.h"
#include "schema/muster.h"

namespace muster {

/// Bounds and counters of one registry.
struct RegistryOptions {
  std::uint64_t cascade_messages_max = 10'000'000;  ///< that handlers of one input may cause; the rest is carried over
  /// Whether a flush may deliver posts of several types type by type, where what handlers read and write proves that
  /// nobody can tell (registry/delivery/gather.h).
  bool gather = true;
  Executor* executor = nullptr;  ///< see set_executor
  /// A pass that is expected to take less, judging by its rows and by what they took lately, runs on one worker; 0: every
  /// pass is spread over them, for tests. No result depends on it.
  std::uint64_t pass_serial_below_ns = 40'000;
};
struct RegistryCounters {
  std::uint64_t messages = 0;  ///< delivered, targets counted
  std::uint64_t unhandled = 0, dead = 0, refused = 0;
  std::uint64_t carried = 0;    ///< times a cascade was cut short
  std::uint64_t overtaken = 0;  ///< times carried messages went behind a new input

  /// What became of messages that were delivered.
  void add(const Receipt& receipt) noexcept {
    messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    unhandled += receipt.unhandled;
    dead += receipt.dead;
    refused += receipt.refused;
  }
};

/// The parts of a registry that its inlined calls use. Owned by the registry.
struct RegistryCore {
  bool delivering = false;
  bool observed = false;     // somebody counts or follows deliveries: pushes go through the queue
  bool told_pushes = false;  // somebody looks at the receipts of pushes
  std::uint64_t sequence = 0;
  RegistryCounters counters;
  Envelope pushed{.kind = InputKind::push};             // of the push that goes on; author and request stay 0
  SingleBatch<Destroy> destroyed{Entity{}, Destroy{}};  // the last one's bytes, for the next
  InputSink* only_sink = nullptr;                       // where there is one sink and no more
  std::vector<InputSink*> sinks;
  std::array<std::vector<InputSink*>, input_kinds> receipt_sinks;  // those of them that look at receipts, by kind
  const std::vector<InputSink*>& receipt_sinks_of(InputKind kind) const noexcept {
    return receipt_sinks[static_cast<std::size_t>(kind)];
  }
  /// To be called when sinks came or went.
  void note_sinks() noexcept {
    only_sink = sinks.size() == 1 ? sinks.front() : nullptr;
    told_pushes = !receipt_sinks_of(InputKind::push).empty();
  }
  void tell_input(const Envelope& envelope, std::span<const std::byte> batch) {
    if (InputSink* const sink = only_sink) [[likely]]
      return sink->on_input(envelope, batch);
    for (InputSink* sink : sinks) sink->on_input(envelope, batch);
  }
  RunContext* context = nullptr;  // of calls of handlers
  Arena input;                    // what the outside pushed or posted
  Arena cascade;                  // what handlers pushed
  Storage storage;
  Hierarchy hierarchy{storage};
  TypesKnown types{storage};
  RowSites sites;

  /// Outside handlers, and nothing waits: a push need not go through the queue.
  bool is_quiet() const noexcept {
    return (static_cast<std::size_t>(delivering) | static_cast<std::size_t>(observed) | input.batches() |
            cascade.batches()) == 0;
  }
};

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

}  // namespace muster
