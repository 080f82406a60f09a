// Handles FollowDurable, and sends Durables to followers, which report how much of the world is on
// disk.
#pragma once

#include <cstdint>
#include <string>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/session/world_side.h"

namespace muster {

/// Must be used only on the world thread.
class DurableQuestions {
 public:
  explicit DurableQuestions(const WorldSide& world) : world_(world) {}

  /// Answers FollowDurable.
  void follow(const Asked& asked);
  /// If the state has changed, sends the newest state to each follower as soon as the follower's
  /// queue has room. Must be called after each flush.
  void tell();
  /// Removes a session that has ended.
  void leave(const Session& session);
  session::Durable state() const;

 private:
  /// Checks for changes to the state.
  void notice();

  const WorldSide& world_;
  Followers followers_;
  std::uint64_t durable_ = 0, saved_ = 0;
  std::string error_;
};

}  // namespace muster
