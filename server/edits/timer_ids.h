// Tracks the ids that the timers of ended sessions will use. The ids remain granted until those
// timers have fired or been cancelled, and are then returned.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "messages/batch.h"
#include "registry/apply/timers.h"
#include "registry/entity_registry.h"

namespace muster {

/// Must be used only on the world thread, between inputs, except for on_input.
class TimerIds {
 public:
  /// Collects the ids of all pending timers. The call is necessary after a load, because those ids
  /// are not stored anywhere else.
  explicit TimerIds(EntityRegistry& registry);

  /// Keeps the ids of the given timers, because the session that set those timers is ending.
  /// Ignores timers that are not pending.
  void keep(std::span<const TimerId> timers);
  /// Returns the granted ids that the given timers name, in ascending order. The result contains an
  /// id once for each time that it is named.
  std::vector<Entity> named_by(std::span<const TimerId> timers) const;
  /// Records the timers that an input cancels.
  void on_input(const BatchView& batch) {
    if (!due_.empty()) [[unlikely]]
      note(batch);
  }
  /// Returns to the world the kept ids that no timer names any longer. Each run of consecutive ids
  /// is returned in a single input.
  void give_back();

 private:
  void note(const BatchView& batch);
  void keep(const Timers::Key& key, std::span<const std::byte> batch);
  std::vector<std::uint32_t> granted_ids(std::span<const std::byte> batch) const;

  EntityRegistry& registry_;
  std::map<Timers::Key, std::vector<std::uint32_t>> kept_;
  std::unordered_map<TimerId, std::uint64_t> due_;         // due times of the timers in kept_
  std::unordered_map<std::uint32_t, std::uint32_t> uses_;  // number of occurrences in kept_, by id
  std::vector<TimerId> cancelled_;                         // timers cancelled since the previous
                                                           // give_back()

  // Limit on how many of the kept timers are checked after each change. The check is necessary
  // because cancellations made by a handler or by another timer are not reported.
  static constexpr std::size_t looks_max = 1000;
  std::size_t looks_left_ = 0;
  Timers::Key looked_at_{};                  // the last timer checked
  std::uint64_t sequence_ = 0, now_ns_ = 0;  // the registry's values at the previous give_back()
};

}  // namespace muster
