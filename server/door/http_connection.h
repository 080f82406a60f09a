// A connection with HTTP. It always counts as a stranger and occupies no session's place. A
// WebSocket request turns it into a session's stream.
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

/// Shared objects of a server's HTTP connections.
struct HttpHost {
  Door& door;
  const Site& site;
  Loop& loop;
  std::function<std::uint32_t()> connections;  ///< number of open connections of all kinds
};

/// Takes over the stream of a request for a WebSocket. The calling connection ends without calling
/// `ended`.
using Upgrade = std::function<void(std::unique_ptr<WireStream> stream, const WebHandshake& asked)>;

/// Serves the stream until it ends; `host` must outlive it. `came` holds the bytes already read,
/// and `address` is the client's.
std::shared_ptr<ServedStream> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                   std::string address, std::span<const std::byte> came,
                                                   ServedStreamEvents events, Upgrade upgrade);

}  // namespace muster
