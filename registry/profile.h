// Figures and traces of what takes time in a registry (docs/observability.md). Neither is part of
// the state or affects results.
#pragma once

#include <vector>

#include "registry/delivery/executor.h"
#include "registry/entity_registry.h"
#include "registry/observe/figures.h"

namespace muster {

class Trace;  // registry/observe/trace.h

/// Reads the figures of the registry to which it refers. Returned by profile() of a const registry.
class RegistryFigures {
 public:
  explicit RegistryFigures(const EntityRegistry& registry) noexcept : read_(registry) {}

  bool observing() const noexcept;
  /// Returns the figures in order of subscription. Includes handlers that have ended, but not those
  /// that were never called.
  std::vector<HandlerFigures> handler_figures() const;
  /// Returns the figures in the order in which the types were first delivered.
  std::vector<MessageFigures> message_figures() const;
  /// Counts the passes since set_executor() was called with more than one worker.
  const PassCounters& pass_counters() const noexcept;

 private:
  const EntityRegistry& read_;
};

/// Also controls what is measured. Returned by EntityRegistry::profile().
class RegistryProfile : public RegistryFigures {
 public:
  explicit RegistryProfile(EntityRegistry& registry) noexcept : RegistryFigures(registry), registry_(registry) {}

  /// Starts or stops counting and timing deliveries. Starting resets the figures; they remain
  /// readable after stopping. Off initially, which costs nothing: the only test is one that a push
  /// makes anyway.
  void observe(bool on);
  /// Records into `trace` while observing; null stops the recording. The trace must outlive the
  /// recording.
  void set_trace(Trace* trace);
  /// Makes handlers' pushes carry the message that caused them in their batch's bytes
  /// (messages/causes.h), so that traces show the chain. Runs are then delivered message by
  /// message, with the same results. Off initially, which adds no bytes. Messages from timers have
  /// no cause.
  void record_causes(bool on);

 private:
  EntityRegistry& registry_;
};

inline RegistryProfile EntityRegistry::profile() noexcept { return RegistryProfile(*this); }
inline RegistryFigures EntityRegistry::profile() const noexcept { return RegistryFigures(*this); }

}  // namespace muster
