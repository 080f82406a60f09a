// The ids that timers of ended sessions will bring to life. They stay granted for them, and go back
// when the timer is over.
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

/// Owner's thread, between inputs, but for on_input.
class TimerIds {
 public:
  /// Has the ids of all waiting timers, because they are stored nowhere else after a load.
  explicit TimerIds(EntityRegistry& registry);

  /// The session that set these timers ends: from now on they keep their ids themselves. Those that
  /// do not wait are ignored.
  void keep(std::span<const TimerId> timers);
  /// Ascending: the granted ids that these timers name, each as often as it is named.
  std::vector<Entity> named_by(std::span<const TimerId> timers) const;
  /// Notes which timers an input cancels.
  void on_input(const BatchView& batch) {
    if (!due_.empty()) [[unlikely]]
      note(batch);
  }
  /// Gives back what no timer names any more that was kept for one. Each run of ids is an input.
  void give_back();

 private:
  void note(const BatchView& batch);
  void keep(const Timers::Key& key, std::span<const std::byte> batch);
  std::vector<std::uint32_t> granted_ids(std::span<const std::byte> batch) const;

  EntityRegistry& registry_;
  std::map<Timers::Key, std::vector<std::uint32_t>> kept_;
  std::unordered_map<TimerId, std::uint64_t> due_;         // of those in kept_
  std::unordered_map<std::uint32_t, std::uint32_t> uses_;  // id -> how often kept_ has it
  std::vector<TimerId> cancelled_;                         // since the last give_back
  // What a handler or another timer cancels nobody is told of: when something happened all that are
  // kept are looked at, in turn.
  static constexpr std::size_t looks_max = 1000;
  std::size_t looks_left_ = 0;
  Timers::Key looked_at_{};                  // the last one
  std::uint64_t sequence_ = 0, now_ns_ = 0;  // of the registry at the last give_back
};

}  // namespace muster
