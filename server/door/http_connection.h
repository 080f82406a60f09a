// Serves an HTTP connection. The connection always counts as a stranger rather than as a session.
// If the client requests a WebSocket, the connection becomes a stream that can carry a session.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/access/refusals.h"
#include "server/door/loop.h"
#include "server/door/served_stream.h"
#include "server/door/web_stream.h"
#include "server/door/wire_stream.h"
#include "server/session/server_limits.h"
#include "server/web/site.h"

namespace muster {

/// The objects shared by all HTTP connections of a program.
struct HttpHost {
  const ServerLimits& limits;
  Refusals& refusals;
  Loop& loop;
  const HostRules& rules;
  /// Judges a request. Called on the listener's thread.
  std::function<Site::Reply(const HttpRequest& request, const RequestSource& source)> reply;
};

/// Takes over the stream of a connection that requests a WebSocket for the world of this name (see
/// Site::Reply). The calling connection then ends without calling `ended`.
using Upgrade =
    std::function<void(std::unique_ptr<WireStream> stream, const WebHandshake& asked, const std::string& world)>;

/// Serves the stream until it ends. `host` must outlive the stream. `came` contains the bytes that
/// have already been read, and `address` is the client's address.
std::shared_ptr<ServedStream> open_http_connection(std::unique_ptr<WireStream> stream, HttpHost& host,
                                                   std::string address, std::span<const std::byte> came,
                                                   ServedStreamEvents events, Upgrade upgrade);

}  // namespace muster
