// The listener's view of an accepted stream, which carries frames (session_stream.h) or HTTP
// (http_connection.h).
#pragma once

#include <chrono>
#include <functional>

namespace muster {

/// Time for a client to read why its stream is closed.
constexpr auto linger_max = std::chrono::milliseconds(1000);

/// Used on the listener's thread. The listener owns it until it has ended.
class ServedStream {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~ServedStream() = default;

  /// Checks time limits. Called several times within each limit.
  virtual void check_times(Clock::time_point now) = 0;
  /// Immediately closes a stranger whose place is needed.
  virtual void give_way() = 0;
  /// Notifies the client that the server stops, and ends within a second.
  virtual void stop() = 0;
};

/// Calls from a stream to the listener. Both may be called inside calls of the stream, which exists
/// until these return.
struct ServedStreamEvents {
  std::function<void()> known;  ///< no longer a stranger, or closed; may be called repeatedly
  std::function<void()> ended;  ///< called once, when nothing is pending
};

}  // namespace muster
