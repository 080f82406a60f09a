// Serves a world to clients: sessions over TCP, WebSockets and Unix sockets, and the editor's page.
// docs/protocol.md describes the protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/access/server_error.h"
#include "server/session/server_limits.h"

namespace muster {

class Plugins;
class World;

struct ServerOptions {
  /// Address to listen on: "127.0.0.1:7717". Port 0 takes a free one, see Server::address. Loopback
  /// addresses only. Empty means no TCP.
  std::string listen = "127.0.0.1:7717";
  /// Path of a Unix socket, readable by its owner only; empty means none. Replaces a stale one; a
  /// live one is an error.
  std::string unix_path = {};
  /// The token with all rights. Empty means a random one.
  std::string token = {};
  /// File with the list of users and their tokens, which sessions with the right `admin` change;
  /// server/access/users.h describes its format. The file need not exist. Empty means no users.
  std::string users_file = {};
  /// File for address and token, with which `muster` and other clients on this machine find the
  /// world. Readable by its owner only, and removed on a clean stop. Empty means
  /// WORLD-server.json, next to the world's file; "none" means no file.
  std::string address_file = {};
  /// Folder of the editor's page, read when the server is made. Empty means the installed page, or
  /// the one built with this program, if any; "none" means no page. Served on `listen` only.
  std::string page_folder = {};
  /// Name of this program, which `muster info` shows. Empty means the name of its executable.
  std::string program = {};
  /// Called on the server's thread with one line about a session that connected, left or was
  /// refused. May be empty.
  std::function<void(const std::string&)> log = {};
  /// Called with one line, at most once a second, about connections that were refused before they
  /// became sessions, mostly for wrong tokens. These calls are on the server's thread. Also called
  /// on the world thread when the disk begins to fail or works again. If empty, `log` is called.
  std::function<void(const std::string&)> warn = {};
  ServerLimits limits = {};
  /// Plugins installed in the world, or null. Info lists them, and sessions with the right `admin`
  /// may load them again. With plugins, `log` is also called on the world thread. Must outlive the
  /// server.
  Plugins* plugins = nullptr;
  /// Called when a plugin is reloaded whose types have different layouts than the world's, if a
  /// copy of the state could be converted. Called on the world thread, after the world was saved
  /// and before the session gets its answer. The host must end the frames (World::stop), destroy
  /// the server, save the world, and reopen it with the plugins' files loaded again. If empty, the
  /// server refuses such a build.
  std::function<void()> open_again = {};
};

/// Returns the absolute path of a companion of the world file at `world`, such as WORLD-users. The
/// companion is next to the file itself, even if `world` is a link to it.
std::string companion_path(const std::string& world, const char* suffix);

/// Serves from construction to destruction on a thread of its own, and sends to watches on another.
/// Construct, use and destroy it on the world thread; the world must outlive it. Handlers never run
/// on its threads, and the world thread never waits for them.
class Server {
 public:
  /// Throws ServerError if an address or socket path is invalid, if it cannot listen, if the
  /// page or the list of users cannot be read, or if the address file cannot be written.
  explicit Server(World& world, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Throws if the constructor would now throw with these options, and has no other effect. A host
  /// can check the options before it creates a world.
  static void check(const ServerOptions& options);

  /// Returns the address with the real port: "127.0.0.1:7717". Empty without TCP.
  const std::string& address() const noexcept;
  /// Returns the path of the Unix socket; empty without one.
  const std::string& unix_path() const noexcept;
  const std::string& token() const noexcept;
  /// Returns the editor's address with the token with all rights:
  /// "http://127.0.0.1:7717/#token=...". The token follows the #, so that browsers do not send it
  /// in requests; special characters are escaped. Empty without TCP.
  const char* editor_url() const noexcept;
  /// True if editor_url() has a page: false without TCP or without a folder of the page.
  bool has_editor() const noexcept;
  /// Number of open sessions.
  std::uint32_t sessions() const noexcept;

  /// Notifies all sessions that the server stops, sends queued frames for at most a second, and
  /// closes the sessions. The destructor calls it.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
