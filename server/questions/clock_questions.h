// The world's clock as sessions see and set it: GetClock, SetClock, and the ClockStates that followers are sent.
#pragma once

#include <cstdint>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/session/world_side.h"

namespace muster {

/// World thread only.
class ClockQuestions {
 public:
  ClockQuestions(const EntityRegistry& registry, WorldSide& world) : registry_(registry), world_(world) {}

  /// Answers GetClock and SetClock.
  void get(const Asked& asked, bool follow);
  void set(const Asked& asked, const session::SetClock& what);
  /// Sends followers what is new, only the newest state, as soon as their queue has room. Call it after each flush,
  /// when questions were worked on.
  void tell();
  /// The session ended.
  void leave(const Session& session);

 private:
  session::ClockState state() const;
  /// Counts changes without a SetClock: a run of steps is over, the world was saved, the program set the clock.
  void notice();
  Pace pace() const { return world_.pace().value_or(Pace{}); }

  const EntityRegistry& registry_;
  WorldSide& world_;
  Followers followers_;
  Pace pace_;  // as followers know it
  std::uint64_t author_ = 0, saved_ = 0;
};

}  // namespace muster
