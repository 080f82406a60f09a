// The ids that timers of ended sessions will use. They remain granted for the timers, and are
// returned once the timers are over.
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

/// Used on the world thread, between inputs, except for on_input.
class TimerIds {
 public:
  /// Collects the ids of all pending timers, because after a load they are not stored anywhere
  /// else.
  explicit TimerIds(EntityRegistry& registry);

  /// Keeps the ids of these timers, because the session that set them is ending. Ignores timers
  /// that are not pending.
  void keep(std::span<const TimerId> timers);
  /// Returns the granted ids that these timers name, in ascending order. Each id occurs as often as
  /// it is named.
  std::vector<Entity> named_by(std::span<const TimerId> timers) const;
  /// Records which timers an input cancels.
  void on_input(const BatchView& batch) {
    if (!due_.empty()) [[unlikely]]
      note(batch);
  }
  /// Returns the ids that were kept for timers and that no timer names any longer. Each run of
  /// consecutive ids is returned in one input.
  void give_back();

 private:
  void note(const BatchView& batch);
  void keep(const Timers::Key& key, std::span<const std::byte> batch);
  std::vector<std::uint32_t> granted_ids(std::span<const std::byte> batch) const;

  EntityRegistry& registry_;
  std::map<Timers::Key, std::vector<std::uint32_t>> kept_;
  std::unordered_map<TimerId, std::uint64_t> due_;         // due times of the timers in kept_
  std::unordered_map<std::uint32_t, std::uint32_t> uses_;  // id -> occurrences in kept_
  std::vector<TimerId> cancelled_;                         // cancelled since the previous give_back

  // Limit on how many of the kept timers are checked after each change. Checking is necessary
  // because timers that are cancelled by a handler or by another timer are not reported.
  static constexpr std::size_t looks_max = 1000;
  std::size_t looks_left_ = 0;
  Timers::Key looked_at_{};                  // the last timer checked
  std::uint64_t sequence_ = 0, now_ns_ = 0;  // registry's values at the last give_back
};

}  // namespace muster
