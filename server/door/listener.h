// Accepts connections and keeps them until they end. One thread for all; what is spoken on one is its Connection's: of TCP the first
// four bytes decide between frames and HTTP, Unix sockets speak frames.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/session_protocol.h"
#include "server/web/page_files.h"

namespace muster {

struct ListenerOptions {
  std::string listen;     ///< "127.0.0.1:7717", loopback only; empty: no TCP
  std::string unix_path;  ///< empty: no Unix socket
  std::vector<Admission> admissions;
  std::function<void(const std::string&)> log;  ///< on the listener's thread; one line about a session
  std::function<void(const std::string&)>
      warn;                       ///< likewise, about strangers that were refused, once a second; empty: log
  PageFiles page = {};            ///< what is served over HTTP; may be empty
  std::string world_folder = {};  ///< whose models are served over HTTP; empty: none are
  std::string world_file = {};    ///< the name of the world's file in it, which is not
  std::string users_file = {};    ///< server/door/users.h; empty: there are no users
  std::string world_id = {};      ///< World::id, whose users they are; empty: it is not known
  std::function<const std::string*()> displaced = {};  ///< World::displaced; may be null
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
