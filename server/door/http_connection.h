// An HTTP connection. It always counts as a stranger and does not take the place of a session. A
// WebSocket request turns it into the stream of a session.
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

/// Objects shared by a server's HTTP connections.
struct HttpHost {
  Door& door;
  const Site& site;
  Loop& loop;
  std::function<std::uint32_t()> connections;  ///< number of open connections of all kinds
};

/// Takes over the stream of a request for a WebSocket. The connection that calls it then ends
/// without calling `ended`.
using Upgrade = std::function<void(std::unique_ptr<WireStream> stream, const WebHandshake& asked)>;

/// Serves the stream until it ends. `host` must outlive the stream. `came` contains the bytes that
/// have already been read, and `address` is the client's address.
std::shared_ptr<ServedStream> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                   std::string address, std::span<const std::byte> came,
                                                   ServedStreamEvents events, Upgrade upgrade);

}  // namespace muster
