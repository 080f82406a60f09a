// A stream on which frames are spoken: by a stranger until its Hello is accepted, then by a
// session. SessionProtocol has the messages, and WireStream the bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/connection.h"
#include "server/door/loop.h"
#include "server/door/session_protocol.h"
#include "server/door/wire_stream.h"

namespace muster {

/// Takes over a stream whose first four bytes, which `came` begins with, say that it is none of
/// frames. The connection that calls it is over then, and does not tell that it ended.
using Divert = std::function<void(std::unique_ptr<WireStream> stream, std::vector<std::byte> came)>;

/// Serves the stream until it ends; `door` and `loop` outlive it. `address`: where the client is,
/// for the log. `divert` may be null: then whatever comes is taken for frames.
std::shared_ptr<Connection> open_session_stream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop,
                                                std::string address, ConnectionEvents events, Divert divert);

}  // namespace muster
