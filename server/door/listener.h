// Accepts connections and serves them on one thread until they end. The first four bytes of a TCP
// connection determine whether it carries frames or HTTP. Unix sockets always carry frames.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/session_protocol.h"
#include "server/door/tls_certificates.h"
#include "server/web/page_files.h"

namespace muster {

class TypeTable;

struct ListenerOptions {
  /// An address such as "127.0.0.1:7717", or empty for no TCP. Without TLS, it must be a loopback
  /// address.
  std::string listen;
  std::string unix_path;  ///< path of the Unix socket, or empty for none
  std::vector<Admission> admissions;
  std::vector<AccessRule> rules = {};
  /// Called on the listener's thread with a log line about a session.
  std::function<void(const std::string&)> log;
  /// Called with a log line about refused strangers. If empty, `log` is called instead.
  std::function<void(const std::string&)> warn;
  /// The page to serve over HTTP. May be empty.
  PageFiles page = {};
  /// The folder of models to serve over HTTP, or empty.
  std::string world_folder = {};
  bool private_figures = false;  ///< true if /metrics and /health always require a token
  std::string world_file = {};   ///< path of the world's file, which is never served
  std::string tick_hashes = {};  ///< a file whose hashes slices contain; see slice_answer()

  /// The file with the list of users (server/access/users.h), or empty.
  std::string users_file = {};
  /// World::id of the world to which the users belong, or empty.
  std::string world_id = {};
  std::function<const std::string*()> displaced = {};  ///< World::displaced; may be null
  /// Stores a new token of the server (ServerOptions::keep_token). Called on a thread that may wait
  /// for the disk. May be null.
  std::function<std::expected<void, UserFault>(const std::string& token)> keep_own_token = {};
  /// Makes the world thread call set_own_token(). Called on the listener's thread. May be null.
  std::function<void(const std::string& token, std::function<void()> then)> publish_own_token = {};
  /// Called on the listener's thread when a server that drains at the request of a session must
  /// stop. If null, such requests are refused.
  std::function<void()> drained = {};
  /// The certificate of the TCP port, or nothing for a port without TLS.
  TlsFiles tls = {};
  /// Addresses of reverse proxies whose X-Forwarded-... fields are believed.
  std::vector<std::string> proxies = {};
  /// The file with the key for resuming sessions (server/access/resume_key.h), or empty.
  std::string resume_file = {};
};

/// Must be created, stopped, and destroyed on the world thread. The desk must outlive the listener.
class Listener {
 public:
  /// Starts listening. Throws ServerError on failure.
  Listener(Desk& desk, ListenerOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const noexcept;
  /// Returns the number of open connections, including both sessions and strangers. May be called
  /// on any thread.
  std::uint32_t streams() const noexcept;
  /// Calls `f` on the listener's thread after `time` has passed. May be called on any thread.
  void call_in(std::chrono::nanoseconds time, std::function<void()> f);
  /// Calls `act` while the listener's thread does nothing.
  void while_resting(const std::function<void()>& act);
  /// Changes the rules for what users may write. Must be called while the listener's thread rests.
  void set_rules(std::vector<AccessRule> rules) MUSTER_REQUIRES(world_thread);
  /// Tells which types the world knows now, because users may not see them (attribute `see`). Must
  /// be called before any session can learn of the types.
  void learn_types(const TypeTable& types) MUSTER_REQUIRES(world_thread);
  /// Replaces the server's own token, calls `then` on the listener's thread, and ends the sessions
  /// that use the old token. May be called on any thread.
  void set_own_token(const std::string& token, std::function<void()> then = {});
  /// Accepts no further sessions, and tells the present ones that the server will stop, and where
  /// they can be resumed. Calls `then` on the listener's thread once, when there are no sessions
  /// any longer or when `time` has passed. Calls after the first only change a `resume_at` that is
  /// not empty. May be called on any thread.
  void drain(std::chrono::nanoseconds time, const std::string& resume_at, std::function<void()> then);
  /// Notifies all sessions that the server is stopping, waits at most one second until the
  /// notifications have been sent, and closes the sessions.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
