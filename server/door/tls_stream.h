// Implements WireStream for a TCP socket on a port that needs TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/door/socket_stream.h"
#include "server/door/wire_stream.h"
#include "system/tls.h"

namespace muster {

/// Takes over a connected socket. The first read performs the handshake. If the client's first byte
/// shows that the client does not use TLS, the stream carries the plain bytes, and needs_tls()
/// returns true. `on_failure` is called with a sentence if the handshake fails. `io` must run on
/// the listener's thread and must outlive the stream.
std::unique_ptr<WireStream> open_tls_stream(boost::asio::io_context& io, int descriptor, SocketKind kind,
                                            std::shared_ptr<const TlsIdentity> identity,
                                            std::function<void(const std::string&)> on_failure);

}  // namespace muster
