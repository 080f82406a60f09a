// Reports how much of the world is on disk: FollowDurable, and the Durables for followers.
#pragma once

#include <cstdint>
#include <string>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/session/world_side.h"

namespace muster {

/// World thread only.
class DurableQuestions {
 public:
  explicit DurableQuestions(const WorldSide& world) : world_(world) {}

  /// Answers FollowDurable.
  void follow(const Asked& asked);
  /// Sends followers the newest state if it changed, as soon as their queue has room. Call it after
  /// each flush.
  void tell();
  /// Removes an ended session.
  void leave(const Session& session);
  session::Durable state() const;

 private:
  /// Detects changes.
  void notice();

  const WorldSide& world_;
  Followers followers_;
  std::uint64_t durable_ = 0, saved_ = 0;
  std::string error_;
};

}  // namespace muster
