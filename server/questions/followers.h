// Sessions that follow a state. When the state changes, each session receives the newest one as
// soon as its queue has room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/session/session.h"

namespace muster {

/// World thread only.
class Followers {
 public:
  /// Adds a session that has just been sent the state. Has no effect if the session is already a
  /// follower.
  void add(const std::shared_ptr<Session>& session) {
    if (std::ranges::find(all_, session, &Follower::session) == all_.end()) all_.push_back({session, changes_});
  }
  /// Removes an ended session.
  void remove(const Session& session) {
    std::erase_if(all_, [&](const Follower& follower) { return follower.session.get() == &session; });
  }
  bool empty() const noexcept { return all_.empty(); }
  /// Records that the state has changed.
  void note_change() noexcept { ++changes_; }
  /// Sends `state()` under request 0 to sessions that were last sent an older state and whose queue
  /// has room for `bytes`.
  template <class State>
  void tell(std::size_t bytes, const State& state) {
    for (Follower& follower : all_) {
      if (follower.told == changes_ || !follower.session->outgoing()->has_answer_room(bytes)) continue;
      follower.told = changes_;
      answer(*follower.session, 0, state());
    }
  }

 private:
  struct Follower {
    std::shared_ptr<Session> session;
    std::uint64_t told = 0;  // value of `changes_` when the state was last sent
  };
  std::vector<Follower> all_;
  std::uint64_t changes_ = 1;
};

}  // namespace muster
