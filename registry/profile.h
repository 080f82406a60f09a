// Figures and traces of what takes time in a registry (docs/observability.md). They are not part of
// the state and never affect results.
#pragma once

#include <vector>

#include "registry/delivery/executor.h"
#include "registry/entity_registry.h"
#include "registry/observe/figures.h"

namespace muster {

class Trace;  // registry/observe/trace.h

/// Reads the figures. Refers to its registry; profile() of a const registry makes one.
class RegistryFigures {
 public:
  explicit RegistryFigures(const EntityRegistry& registry) noexcept : read_(registry) {}

  bool observing() const noexcept;
  /// Sorted by subscription; includes handlers that have ended, excludes those never called.
  std::vector<HandlerFigures> handler_figures() const;
  /// In the order in which the types were first delivered.
  std::vector<MessageFigures> message_figures() const;
  /// Passes since set_executor() was called with more than one worker.
  const PassCounters& pass_counters() const noexcept;

 private:
  const EntityRegistry& read_;
};

/// Also decides what is measured. Refers to its registry; EntityRegistry::profile() makes one.
class RegistryProfile : public RegistryFigures {
 public:
  explicit RegistryProfile(EntityRegistry& registry) noexcept : RegistryFigures(registry), registry_(registry) {}

  /// Starts or stops counting and timing deliveries. Starting resets the figures; after stopping
  /// they can still be read. Initially off, at no cost: the only test is one that a push makes
  /// anyway.
  void observe(bool on);
  /// Records into `trace` while observing; null stops. The trace must outlive its recording.
  void set_trace(Trace* trace);
  /// Makes handlers' pushes carry the message that caused them in their batch's bytes
  /// (messages/causes.h), so that traces show the chain. Runs are then delivered message by
  /// message, with the same results. Initially off, which adds no bytes. Messages from timers have
  /// no cause.
  void record_causes(bool on);

 private:
  EntityRegistry& registry_;
};

inline RegistryProfile EntityRegistry::profile() noexcept { return RegistryProfile(*this); }
inline RegistryFigures EntityRegistry::profile() const noexcept { return RegistryFigures(*this); }

}  // namespace muster
