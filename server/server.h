// Serves a world to clients: sessions over TCP, WebSockets, and Unix sockets, and the editor's page
// over HTTP. docs/protocol.md describes the protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/access/access_rules.h"
#include "server/access/server_error.h"
#include "server/session/server_limits.h"

namespace muster {

class Plugins;
class World;

struct ServerOptions {
  /// Address to listen on, such as "127.0.0.1:7717". Without TLS, only loopback addresses are
  /// allowed. For port 0, the system chooses a free port; see Server::address. If empty, the server
  /// does not use TCP.
  std::string listen = "127.0.0.1:7717";
  /// Files in PEM format with the certificate (followed by those of its issuers) and the private
  /// key. If set, the port of `listen` accepts only connections with TLS 1.3. The files are read
  /// again when they change; open sessions go on.
  std::string certificate = {}, key = {};
  /// If true, the server uses a certificate of its own, which it keeps in WORLD-tls.pem. Clients
  /// recognize it by its fingerprint.
  bool self_signed = false;
  /// Returns a number that changes when the certificate must be read again although its files look
  /// the same. Called on the listener's thread. May be null.
  std::function<std::uint64_t()> certificate_asked = {};
  /// Addresses of reverse proxies, such as "10.0.0.7". Only from these addresses does the server
  /// believe the HTTP fields X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
  std::vector<std::string> proxies = {};
  /// Path of a Unix socket that only its owner can access. If empty, there is no Unix socket. A
  /// stale socket is replaced, but a socket on which a server is already listening is an error.
  std::string unix_path = {};
  /// The token that grants all rights. If empty, a random token is used.
  std::string token = {};
  /// Stores a new token that replaces `token`, because the owner has exchanged it (`muster token
  /// rotate`). After an error, which is a human-readable message, the old token stays. Called on a
  /// thread of the server that may wait for the disk. If empty, a random token can be exchanged,
  /// but one that was given in `token` cannot.
  std::function<std::expected<void, std::string>(const std::string& token)> keep_token = {};
  /// File that contains the list of users and their tokens. Sessions with the right `admin` can
  /// change the list. server/access/users.h describes the file's format. The file need not exist.
  /// Empty means WORLD-users, next to the world's file. "none" means that there are no users.
  std::string users_file = {};
  /// A file that a TickHashLog writes. Slices for download contain the hashes of their ticks. Empty
  /// if there is none.
  std::string tick_hashes = {};
  /// File that contains the address and token, through which `muster` and other clients on this
  /// machine find the world. The file is readable only by its owner and is removed on a clean
  /// shutdown. Empty means WORLD-server.json, next to the world's file. "none" means no file.
  std::string address_file = {};
  /// Folder of the editor's page, which is read when the server is created and is served only on
  /// `listen`. Empty means the installed page or the page built with this program, if there is one.
  /// "none" means no page.
  std::string page_folder = {};
  /// Name of this program, as shown by `muster info`. Empty means the name of the executable.
  std::string program = {};
  /// Called on the listener's thread with a log line about each session that connects, leaves, or
  /// is refused. Must not block. May be empty.
  std::function<void(const std::string&)> log = {};
  /// Called on the listener's thread, at most once a second, with a log line about connections that
  /// were refused before they became sessions, mostly because of wrong tokens. Also called on the
  /// world thread when the disk begins to fail or works again. If empty, `log` is called instead.
  std::function<void(const std::string&)> warn = {};
  /// Returns the number of lines that the program's log has lost, for /metrics. May be called on
  /// any thread, and may be empty.
  std::function<std::uint64_t()> log_lines_lost = {};
  /// Called with each line for the audit log, on the world thread and the listener's thread. Must
  /// not block. May be empty.
  std::function<void(std::string)> audit = {};
  /// Returns true if the audit log is on at present. Called on any thread. Must be set if `audit`
  /// is.
  std::function<bool()> audits = {};
  /// Returns the number of lines that the audit log has lost, for /metrics. May be empty.
  std::function<std::uint64_t()> audit_lines_lost = {};
  ServerLimits limits = {};
  /// Rules for what users may write, in addition to their roles. If a rule names an unknown type or
  /// user, the constructor throws a RulesError.
  std::vector<AccessRule> rules = {};
  /// If true, /metrics and /health require a token, also from the same machine.
  bool private_figures = false;
  /// The plugins installed in the world, or null. The answer to Info lists the plugins, and
  /// sessions with the right `admin` may reload them. If there are plugins, `log` is also called on
  /// the world thread. The object must outlive the server.
  Plugins* plugins = nullptr;
  /// If positive, the server stops the world (World::stop) once there has been no session for this
  /// long, and nothing to do: no ticks, no timers that advance, and no messages that wait.
  std::chrono::nanoseconds sleep_after = {};
  /// Called if the type layouts of a reloaded plugin differ from the world's, provided that a copy
  /// of the state could be converted. The call is made on the world thread, after the world has
  /// been saved and before the session receives its answer. The host must stop the world
  /// (World::stop), destroy the server, save the world, and reopen it after reloading the plugins'
  /// files. If this function is empty, the server refuses a plugin build with other layouts.
  std::function<void()> open_again = {};
};

/// Serves the world on a thread of its own, and watches on another thread, from construction to
/// destruction. Must be constructed, used, and destroyed on the world thread. The world must
/// outlive the server. Handlers never run on the server's threads, and the world thread never waits
/// for them.
class Server {
 public:
  /// Starts serving. Throws ServerError if an address or socket path is invalid, if the server
  /// cannot listen, if the certificate, the page or the list of users cannot be read, or if the
  /// address file cannot be written.
  explicit Server(World& world, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Throws if the constructor would currently throw with these options. Has no other effect. A
  /// host can call this function to check the options before it creates a world. Checks the list of
  /// users only if `users_file` is set.
  static void check(const ServerOptions& options);

  /// Returns the address with the actual port, for example "127.0.0.1:7717". The result is empty
  /// without TCP.
  const std::string& address() const noexcept;
  /// Returns the path of the Unix socket, or an empty string if there is none.
  const std::string& unix_path() const noexcept;
  const std::string& token() const noexcept;
  /// Returns the SHA-256 fingerprint of the certificate with which the server started, as 64
  /// hexadecimal digits. The result is empty without TLS.
  const std::string& fingerprint() const noexcept;
  /// Returns the editor's address, including the token that has all rights:
  /// "http://127.0.0.1:7717/#token=...", or "https://..." with TLS. The token follows the #, so
  /// that browsers do not send it in requests. Special characters in the token are escaped. The
  /// result is empty without TCP.
  const char* editor_url() const noexcept;
  /// Returns true if there is a page at editor_url(). Returns false without TCP or without a page
  /// folder.
  bool has_editor() const noexcept;
  /// Returns the number of open sessions. May be called on any thread.
  std::uint32_t sessions() const noexcept;
  /// Changes the limits before the next flush, fitted to the number of file descriptors. The limits
  /// on queues apply to new sessions, and all_request_bytes_max and wrong_token_delay_max do not
  /// change. May be called on any thread.
  void set_limits(const ServerLimits& limits);

  /// Changes the rules for what users may write, for present sessions as well, before the next
  /// flush. If a rule names an unknown type or user, returns an error, and nothing changes. May be
  /// called on any thread.
  [[nodiscard]] std::string set_rules(std::vector<AccessRule> rules);
  /// Replaces the server's own token before the next flush, ends the sessions that use the old one,
  /// and writes the address file again. May be called on any thread.
  void set_token(const std::string& token);
  /// Refuses new sessions, and tells the present ones that the server will stop. Stops the world
  /// once there are no sessions any longer or when `time` has passed. Clients resume their sessions
  /// at `resume_at`, such as "tls:HOST:7717", or at the same address if it is empty. While the
  /// server drains, it reports itself as unhealthy. Calls after the first only change a `resume_at`
  /// that is not empty. May be called on any thread. A session with the right `admin` can do the
  /// same (`muster drain`).
  void drain(std::chrono::nanoseconds time, const std::string& resume_at = {});
  /// Notifies all sessions that the server is stopping, sends queued frames for at most one second,
  /// and closes the sessions. Called by the destructor.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
