// The remote door of a world: sessions over TCP, WebSockets and Unix sockets, and the editor's page. docs/protocol.md is what it
// speaks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/door/server_error.h"
#include "server/session/server_limits.h"

namespace muster {

class Plugins;
class World;

struct ServerOptions {
  /// "127.0.0.1:7717"; port 0: any free one, see Server::address. Loopback addresses only. Empty: no TCP.
  std::string listen = "127.0.0.1:7717";
  /// A socket file, made readable for its owner only; empty: none. A stale one is replaced, a live one is an error.
  std::string unix_path = {};
  /// The token with every right. Empty: one is drawn at random.
  std::string token = {};
  /// Tokens that allow less: {token, right}, the right being "view", "edit" or "control".
  std::vector<std::pair<std::string, std::string>> more_tokens = {};
  /// The list of users with tokens of their own, which sessions with the right to admin add to and take from; server/door/users.h
  /// draws it. It need not be there. Empty: there are none.
  std::string users_file = {};
  /// Where address and token are written for clients on this machine, readable by the owner only, and removed on a clean
  /// stop. Empty: nowhere.
  std::string address_file = {};
  /// The folder with the editor's page, read when the server is made. Empty: the one that was installed, or built with this
  /// program, where there is one; "none": none. Served on `listen` only.
  std::string page_folder = {};
  /// What Info calls this program.
  std::string program = "muster-server";
  /// One line about a session that came, went or was refused; on the server's thread. Empty: nobody is told.
  std::function<void(const std::string&)> log = {};
  /// One line, at most once a second, about connections that were refused before they were sessions: wrong tokens above
  /// all, on the server's thread; and where the disk begins to fail, or works again, on the world's. Empty: `log` is told.
  std::function<void(const std::string&)> warn = {};
  ServerLimits limits = {};
  /// Those installed in the world: they are told of in Info, and sessions with the right to admin may load them again. Null:
  /// none. `log` is then also called on the world's thread. Must outlive the server.
  Plugins* plugins = nullptr;
  /// A plugin was to be loaded again whose types have other layouts than the world, and a copy of the state could be converted to them:
  /// called on the world's thread, after the world was saved and before the session is answered. The host is to end the frames
  /// (World::stop); then to end the server, save the world and open it again, with the plugins' files loaded anew. Empty: such a build is
  /// refused.
  std::function<void()> open_again = {};
};

/// Serves from construction to destruction, on a thread of its own, and tells watches on another. Constructed, used and destroyed on the world's
/// thread; the world must outlive it. Handlers never run on its thread, and it never makes the world's wait.
class Server {
 public:
  /// Throws ServerError where an address, a socket path or a right is none, or cannot be listened on, or the page or the list of users
  /// cannot be read.
  explicit Server(World& world, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Throws what the constructor would throw now for these options, and leaves nothing: for a host that wants to know
  /// before it makes a world.
  static void check(const ServerOptions& options);

  /// "127.0.0.1:7717", with the real port; empty without TCP.
  const std::string& address() const noexcept;
  /// Of the Unix socket; empty without one.
  const std::string& unix_path() const noexcept;
  const std::string& token() const noexcept;
  /// "http://127.0.0.1:7717/#token=...": where a browser finds the editor, with the token that lets it in, which is behind the #
  /// so that no browser sends it along; what no URL can hold of it is escaped. Whoever has it has every right. Empty without TCP.
  const char* editor_url() const noexcept;
  /// Whether that address has a page: false without TCP, and where there is no folder with one.
  bool has_editor() const noexcept;
  /// Open now.
  std::uint32_t sessions() const noexcept;

  /// Tells all sessions that the server stops, sends what is queued for at most a second, and closes them. The destructor
  /// does the same.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
