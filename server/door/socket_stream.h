// Implements WireStream for a plain TCP or Unix socket.
#pragma once

#include <memory>

#include "server/door/wire_stream.h"

namespace boost::asio {
class io_context;
}

namespace muster {

enum class SocketKind : std::uint8_t { tcp_v4, tcp_v6, local };

/// Takes over a connected socket. `io` must run on the listener's thread and must outlive the
/// stream.
std::unique_ptr<WireStream> open_socket_stream(boost::asio::io_context& io, int descriptor, SocketKind kind);

}  // namespace muster
