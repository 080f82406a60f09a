// An accepted stream as seen by the listener. It carries either frames (session_stream.h) or HTTP
// (http_connection.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "messages/session.h"

namespace muster {

/// How long a client has to read the reason why its stream is being closed.
constexpr auto linger_max = std::chrono::milliseconds(1000);

/// Must be used only on the listener's thread. Owned by the listener until the stream has ended.
class ServedStream {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~ServedStream() = default;

  /// Checks the time limits. Called often enough that each limit is checked several times before it
  /// expires.
  virtual void check_times(Clock::time_point now) = 0;
  /// Returns true while the stream receives the answer to an HTTP request. Such streams give way
  /// after the others, as long as they have at most half of the places for strangers.
  virtual bool is_answered() const { return false; }
  /// Closes the stream of a stranger immediately, because its place is needed.
  virtual void give_way() = 0;
  /// If the stream belongs to a session of the user, ends the session with the Fault, which is the
  /// last frame, and drops its pending requests. Returns true if it does. The client has a second
  /// to read the Fault.
  virtual bool evict(std::uint64_t user, const session::Fault& why) {
    static_cast<void>(user), static_cast<void>(why);
    return false;
  }
  /// If the stream belongs to a session, sends it the Fault, which does not end the session.
  virtual void notify(const session::Fault& fault) { static_cast<void>(fault); }
  /// Notifies the client that the server is stopping, and ends the stream within a second.
  virtual void stop() = 0;
};

/// Callbacks from a stream to the listener. A stream's function may call either of them, and the
/// stream exists at least until that function returns.
struct ServedStreamEvents {
  /// Called when the stream no longer belongs to a stranger or has been closed. May be called
  /// repeatedly.
  std::function<void()> known;
  /// Called once, when no operation is pending any longer.
  std::function<void()> ended;
};

}  // namespace muster
