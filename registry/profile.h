// Timing statistics and traces of a registry (docs/observability.md). Statistics and traces are not
// part of the state and do not affect results.
#pragma once

#include <vector>

#include "registry/delivery/executor.h"
#include "registry/entity_registry.h"
#include "registry/observe/figures.h"

namespace muster {

class Trace;  // registry/observe/trace.h

/// Reads the statistics of the registry to which it refers. Returned by profile() of a const
/// registry.
class RegistryFigures {
 public:
  explicit RegistryFigures(const EntityRegistry& registry) noexcept : read_(registry) {}

  bool observing() const noexcept;
  /// Returns the statistics of handlers, in the order of subscription. Includes handlers that have
  /// ended, but not those that were never called.
  std::vector<HandlerFigures> handler_figures() const;
  /// Returns the statistics of message types, in the order in which the types were first delivered.
  std::vector<MessageFigures> message_figures() const;
  /// Returns the counts of passes since set_executor() was called with more than one worker.
  const PassCounters& pass_counters() const noexcept;

 private:
  const EntityRegistry& read_;
};

/// In addition to reading statistics, controls what is measured. Returned by profile() of a
/// registry that is not const.
class RegistryProfile : public RegistryFigures {
 public:
  explicit RegistryProfile(EntityRegistry& registry) noexcept : RegistryFigures(registry), registry_(registry) {}

  /// Starts or stops counting and timing deliveries. Starting resets the statistics, which remain
  /// readable after stopping. Initially off, which costs nothing, because the only test is one that
  /// every push makes anyway.
  void observe(bool on);
  /// Records into `trace` while the registry is observed, or stops recording if null. The trace
  /// must outlive the recording.
  void set_trace(Trace* trace);
  /// Records, in the batches that handlers post, the message that caused each post
  /// (messages/causes.h), so that traces show the chain of causes. Messages in a run are then
  /// delivered one at a time, with the same results. Initially off, which adds no bytes. Messages
  /// sent by timers have no cause.
  void record_causes(bool on);

 private:
  EntityRegistry& registry_;
};

inline RegistryProfile EntityRegistry::profile() noexcept { return RegistryProfile(*this); }
inline RegistryFigures EntityRegistry::profile() const noexcept { return RegistryFigures(*this); }

}  // namespace muster
