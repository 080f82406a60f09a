// Accepts connections and moves their bytes. One thread; a stream is a reader and a writer (Asio coroutines), what is said
// on it is SessionProtocol's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/session_protocol.h"

namespace muster {

struct ListenerOptions {
  std::string listen;     ///< "127.0.0.1:7717", loopback only; empty: no TCP
  std::string unix_path;  ///< empty: no Unix socket
  std::vector<Admission> admissions;
  std::function<void(const std::string&)> log;  ///< on the listener's thread; one line about a session
  std::function<void(const std::string&)>
      warn;  ///< likewise, about strangers that were refused, once a second; empty: log
};

/// Made, stopped and destroyed on the owner's thread. The desk must outlive it.
class Listener {
 public:
  /// Throws ServerError.
  Listener(Desk& desk, ListenerOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const noexcept;
  /// Open now: of sessions and of strangers. Any thread.
  std::uint32_t streams() const noexcept;
  /// Has `f` called after `time`, on the listener's thread. Any thread.
  void call_in(std::chrono::nanoseconds time, std::function<void()> f);
  /// Tells every session, waits at most a second until they have been told, and closes.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
