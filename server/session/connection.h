// A connection: a stream of frames between one client and the server, as its session knows it.
// session.h draws how the two belong together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/session/outgoing.h"

namespace muster {

class Session;

/// Made by the door for each stream of frames, with or without an accepted Hello. Whoever reads and
/// writes the stream runs on the listener's thread (server/door/session_stream.h).
class Connection {
 public:
  explicit Connection(OutgoingLimits limits = {}) : outgoing(limits) {}

  Outgoing outgoing;                              ///< any thread: the frames to send
  std::atomic<std::uint64_t> received_bytes = 0;  ///< any thread; in frames that the session took

  /// Returns the session, or null if there is none yet, or none any more. Listener's thread.
  std::shared_ptr<Session> session() const noexcept { return session_.lock(); }

 private:
  friend class Session;
  std::weak_ptr<Session> session_;  // listener's thread; set by Session::connect
};

}  // namespace muster
