// The ids that timers of ended sessions will use. They stay granted for the timers and are returned
// when the timers are over.
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

/// World thread, between inputs, except on_input.
class TimerIds {
 public:
  /// Collects the ids of all waiting timers, because they are not stored elsewhere after a load.
  explicit TimerIds(EntityRegistry& registry);

  /// Keeps the ids of these timers, because the session that set them ends. Ignores timers that are
  /// not waiting.
  void keep(std::span<const TimerId> timers);
  /// Returns the granted ids that these timers name, in ascending order, each as often as it is
  /// named.
  std::vector<Entity> named_by(std::span<const TimerId> timers) const;
  /// Records which timers an input cancels.
  void on_input(const BatchView& batch) {
    if (!due_.empty()) [[unlikely]]
      note(batch);
  }
  /// Gives back the ids that were kept for timers and that no timer names any longer. Each run of
  /// ids is given back in one input.
  void give_back();

 private:
  void note(const BatchView& batch);
  void keep(const Timers::Key& key, std::span<const std::byte> batch);
  std::vector<std::uint32_t> granted_ids(std::span<const std::byte> batch) const;

  EntityRegistry& registry_;
  std::map<Timers::Key, std::vector<std::uint32_t>> kept_;
  std::unordered_map<TimerId, std::uint64_t> due_;         // of the timers in kept_
  std::unordered_map<std::uint32_t, std::uint32_t> uses_;  // id -> occurrences in kept_
  std::vector<TimerId> cancelled_;                         // since the last give_back

  // Limit on the kept timers that are checked after each change. The check is necessary because
  // timers that a handler or another timer cancels are not reported.
  static constexpr std::size_t looks_max = 1000;
  std::size_t looks_left_ = 0;
  Timers::Key looked_at_{};                  // the last one checked
  std::uint64_t sequence_ = 0, now_ns_ = 0;  // values of the registry at the last give_back
};

}  // namespace muster
