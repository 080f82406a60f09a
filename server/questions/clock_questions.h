// Handles GetClock and SetClock, with which sessions read and set the world's clock, and sends
// ClockStates to followers.
#pragma once

#include <cstdint>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/session/world_side.h"

namespace muster {

/// Must be used only on the world thread.
class ClockQuestions {
 public:
  ClockQuestions(const EntityRegistry& registry, WorldSide& world) : registry_(registry), world_(world) {}

  /// Answers GetClock and SetClock.
  void get(const Asked& asked, bool follow);
  void set(const Asked& asked, const session::SetClock& what);
  /// If the clock's state has changed, sends the newest state to each follower as soon as the
  /// follower's queue has room. Must be called after each flush, once questions have been
  /// processed.
  void tell();
  /// Removes a session that has ended.
  void leave(const Session& session);

 private:
  session::ClockState state() const;
  /// Detects changes that were not made by SetClock: a run of steps has ended, the world has been
  /// saved, or the program has set the clock.
  void notice();
  Pace pace() const { return world_.pace().value_or(Pace{}); }

  const EntityRegistry& registry_;
  WorldSide& world_;
  Followers followers_;
  Pace pace_;  // the pace most recently sent to followers
  std::uint64_t session_ = 0, saved_ = 0;
};

}  // namespace muster
