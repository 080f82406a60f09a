// A connection on which HTTP is spoken. It is a stranger as long as it lasts, and takes no
// session's place; a WebSocket on it becomes a session's stream.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/door/connection.h"
#include "server/door/loop.h"
#include "server/door/session_protocol.h"
#include "server/door/web_stream.h"
#include "server/door/wire_stream.h"
#include "server/web/site.h"

namespace muster {

/// Shared objects of a server's HTTP connections.
struct HttpHost {
  Door& door;
  const Site& site;
  Loop& loop;
  std::function<std::uint32_t()> connections;  ///< open now, of all kinds
};

/// Takes over the stream on which a WebSocket was asked for. The connection that calls it is over
/// then, and does not tell that it ended.
using Upgrade = std::function<void(std::unique_ptr<WireStream> stream, const WebHandshake& asked)>;

/// Serves the stream until it ends; `host` outlives it. `came`: what was read of it already.
/// `address`: where the client is.
std::shared_ptr<Connection> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                 std::string address, std::span<const std::byte> came,
                                                 ConnectionEvents events, Upgrade upgrade);

}  // namespace muster
