// A WebSocket: the byte stream cut into binary messages. The boundaries of messages have no
// meaning; they may cut frames.
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
  std::string host, key, version;       ///< Host, Sec-WebSocket-Key, Sec-WebSocket-Version, as they came
  std::uint64_t message_bytes_max = 0;  ///< of a longer message no more is read: 1009
  bool is_v6 = false;
};

/// Takes over a connected TCP socket on which an upgrade was asked for, and answers that; a key or
/// a version that cannot be is refused there, and reads and writes fail. Text messages end the
/// stream: 1003. `io` runs on the listener's thread and outlives the stream.
std::unique_ptr<WireStream> open_web_stream(boost::asio::io_context& io, int descriptor, const WebHandshake& asked);

}  // namespace muster
