// Implements WireStream for a WebSocket. The bytes are sent in binary messages, whose boundaries
// have no meaning and may fall inside a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/door/wire_stream.h"

namespace boost::asio {
class io_context;
}

namespace muster {

/// The parts of the HTTP request for the WebSocket, and the rights of that request.
struct WebHandshake {
  std::string host, key, version;       ///< fields Host, Sec-WebSocket-Key, Sec-WebSocket-Version
  std::string address = {};             ///< the client's address
  std::uint64_t message_bytes_max = 0;  ///< a longer message ends the stream with status 1009
};

/// Takes over a stream on which an upgrade request has arrived, and answers that request. The
/// stream may be of any kind, but no operation may be pending on it. If the request's key or
/// version is invalid, the request is refused, and reads and writes fail. Text messages end the
/// stream (status 1003). `io` must run on the listener's thread and must outlive the stream.
std::unique_ptr<WireStream> open_web_stream(boost::asio::io_context& io, std::unique_ptr<WireStream> carrier,
                                            const WebHandshake& asked);

}  // namespace muster
