// Serves an HTTP connection. The connection always counts as a stranger rather than as a session.
// If the client requests a WebSocket, the connection becomes a stream that can carry a session.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/door/loop.h"
#include "server/door/served_stream.h"
#include "server/door/session_protocol.h"
#include "server/door/web_stream.h"
#include "server/door/wire_stream.h"
#include "server/web/site.h"

namespace muster {

/// The objects shared by all HTTP connections of a server.
struct HttpHost {
  Door& door;
  const Site& site;
  Loop& loop;
  std::function<std::uint32_t()> connections;  ///< number of open connections of all kinds
  /// True if /metrics and /health always require a token.
  bool private_figures = false;
};

/// Takes over the stream of a connection that requests a WebSocket. The calling connection then
/// ends without calling `ended`.
using Upgrade = std::function<void(std::unique_ptr<WireStream> stream, const WebHandshake& asked)>;

/// Serves the stream until it ends. `host` must outlive the stream. `came` contains the bytes that
/// have already been read, and `address` is the client's address.
std::shared_ptr<ServedStream> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                   std::string address, std::span<const std::byte> came,
                                                   ServedStreamEvents events, Upgrade upgrade);

}  // namespace muster
