// An accepted stream as seen by the listener. It carries either frames (session_stream.h) or HTTP
// (http_connection.h).
#pragma once

#include <chrono>
#include <functional>

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
  /// Closes the stream of a stranger immediately, because its place is needed.
  virtual void give_way() = 0;
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
