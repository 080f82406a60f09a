// Knows which entities the users of sessions have selected, drag and have locked, and tells the
// sessions that follow. The world does not know of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "server/session/session.h"

namespace muster {

/// Must be used only on the listener's thread.
class PresenceBoard {
 public:
  /// Limit on the number of entities in each list of a SetPresence.
  static constexpr std::size_t entities_max = 256;

  /// Adds a session that has been welcomed.
  void join(const std::shared_ptr<Session>& session);
  /// Removes a session, whose locks are then free. Has no effect if it is unknown.
  void leave(const Session& session);
  /// Replaces the presence of a session. Returns the answer, or the fault if `what` is invalid, in
  /// which case nothing is replaced.
  std::expected<session::PresenceSet, session::Fault> set(const Session& from, const session::SetPresence& what);
  /// Returns a page of the sessions with at most about `bytes_max` bytes, but at least one session
  /// if there is any. If `what.follow` is 1, the session follows from now on.
  session::Presence get(const Session& from, const session::GetPresence& what, std::size_t bytes_max);
  /// Sends each follower what it has not been told yet, as far as its queue has room.
  void tell();

 private:
  struct Entry {
    std::shared_ptr<Session> session;
    session::Present shown;
    std::uint64_t changed = 0;  // value of `changes_` when `shown` was changed
    std::uint64_t joined = 0;   // value of `changes_` when the session joined
    // If the session follows: the value of `changes_` up to which it was told.
    std::optional<std::uint64_t> told;
  };
  struct Gone {
    std::uint64_t changed = 0, session = 0;
  };
  void tell(Entry& follower);
  void unlock(const Entry& entry);
  /// Forgets sessions that have left, once every follower knows it.
  void forget_gone();

  std::map<std::uint64_t, Entry> entries_;  // by session number
  // The session that has the lock of an entity.
  std::unordered_map<std::uint64_t, std::uint64_t> holders_;
  std::vector<Gone> gone_;  // in the order in which they left
  std::uint64_t changes_ = 0;
  bool untold_ = false;  // some follower may not have been told everything
};

}  // namespace muster
