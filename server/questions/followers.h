// Manages the sessions that follow a state. When the state changes, each session receives the
// newest state as soon as the session's queue has room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/session/session.h"

namespace muster {

/// Must be used only on the world thread.
class Followers {
 public:
  /// Adds a session to which the state has just been sent. Has no effect if the session is already
  /// a follower.
  void add(const std::shared_ptr<Session>& session) {
    if (std::ranges::find(all_, session, &Follower::session) == all_.end()) all_.push_back({session, changes_});
  }
  /// Removes a session that has ended.
  void remove(const Session& session) {
    std::erase_if(all_, [&](const Follower& follower) { return follower.session.get() == &session; });
  }
  bool empty() const noexcept { return all_.empty(); }
  /// Records that the state has changed.
  void note_change() noexcept { ++changes_; }
  /// Sends `state()`, as request 0, to each session that has not received the newest state and
  /// whose queue has room for `bytes` bytes.
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
    std::uint64_t told = 0;  // value of `changes_` when the state was last sent to the session
  };
  std::vector<Follower> all_;
  std::uint64_t changes_ = 1;
};

}  // namespace muster
