// Lets sessions read and set the world's clock: GetClock, SetClock, and the ClockStates for
// followers.
#pragma once

#include <cstdint>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/session/world_side.h"

namespace muster {

/// Used only on the world thread.
class ClockQuestions {
 public:
  ClockQuestions(const EntityRegistry& registry, WorldSide& world) : registry_(registry), world_(world) {}

  /// Answers GetClock and SetClock.
  void get(const Asked& asked, bool follow);
  void set(const Asked& asked, const session::SetClock& what);
  /// If the state has changed, sends the newest state to followers as soon as their queue has room.
  /// Must be called after each flush, after the work on questions.
  void tell();
  /// Removes a session that has ended.
  void leave(const Session& session);

 private:
  session::ClockState state() const;
  /// Detects changes that were not made by SetClock: a run of steps has ended, the world was saved,
  /// or the program has set the clock.
  void notice();
  Pace pace() const { return world_.pace().value_or(Pace{}); }

  const EntityRegistry& registry_;
  WorldSide& world_;
  Followers followers_;
  Pace pace_;  // the pace that was most recently sent to followers
  std::uint64_t author_ = 0, saved_ = 0;
};

}  // namespace muster
