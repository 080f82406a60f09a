// Defines a connection, which is a stream of frames between one client and the server, as seen by a
// session. session.h shows how connections and sessions are related.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/session/outgoing.h"

namespace muster {

class Session;

/// Created by the door for each stream of frames, whether or not a Hello has been accepted. The
/// code that reads and writes the stream runs on the listener's thread
/// (server/door/session_stream.h).
class Connection {
 public:
  explicit Connection(OutgoingLimits limits = {}) : outgoing(limits) {}

  /// Queue of frames to send. May be used on any thread.
  Outgoing outgoing;
  /// The client's address, for the logs. Set before the session begins.
  std::string address;
  /// Total size of the frames accepted so far. May be used on any thread.
  std::atomic<std::uint64_t> received_bytes = 0;

  /// Returns the session, or null if no Hello has been accepted yet or if the session has ended.
  /// Must be called on the listener's thread.
  std::shared_ptr<Session> session() const noexcept { return session_.lock(); }

 private:
  friend class Session;
  std::weak_ptr<Session> session_;  // set by Session::connect(); used on the listener's thread
};

}  // namespace muster
