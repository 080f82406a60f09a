// A WebSocket: a byte stream divided into binary messages. Message boundaries have no meaning and
// may divide frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/door/wire_stream.h"

namespace boost::asio {
class io_context;
}

namespace muster {

/// Data of the HTTP request for the WebSocket, and its rights.
struct WebHandshake {
  std::string host, key, version;       ///< Host, Sec-WebSocket-Key, Sec-WebSocket-Version
  std::uint64_t message_bytes_max = 0;  ///< a longer message ends the stream with 1009
};

/// Takes over a stream with a request for an upgrade, and answers the request. Nothing may be
/// pending on the stream, which may be of any kind. Refuses an invalid key or version; reads and
/// writes then fail. Text messages end the stream (1003). `io` must run on the listener's thread
/// and outlive the stream.
std::unique_ptr<WireStream> open_web_stream(boost::asio::io_context& io, std::unique_ptr<WireStream> carrier,
                                            const WebHandshake& asked);

}  // namespace muster
