// What is spoken on one accepted connection, as the listener sees it: frames (session_stream.h) or HTTP (http_connection.h).
#pragma once

#include <chrono>
#include <functional>

namespace muster {

/// Time for a client to read why its connection is closed.
constexpr auto linger_max = std::chrono::milliseconds(1000);

/// Listener's thread only. Kept by the listener until it has ended.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Connection() = default;

  /// Called a few times within every time limit.
  virtual void check_times(Clock::time_point now) = 0;
  /// It is a stranger whose place another one gets: closes it at once.
  virtual void give_way() = 0;
  /// The server stops: says so and ends, as far as that goes within a second.
  virtual void stop() = 0;
};

/// For a connection to tell the listener. Either may be called while the connection works: it still exists until it returns.
struct ConnectionEvents {
  std::function<void()> known;  ///< it is no stranger any more, or closed; perhaps repeatedly
  std::function<void()> ended;  ///< once: nothing is pending
};

}  // namespace muster
