// Serves a stream that carries frames. The stream belongs to a stranger until its Hello is
// accepted, and to a session afterwards. SessionProtocol handles the messages, and WireStream
// handles the bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/door/loop.h"
#include "server/door/served_stream.h"
#include "server/door/session_protocol.h"
#include "server/door/wire_stream.h"

namespace muster {

/// Takes over a stream whose first four bytes are not the beginning of a frame. `came` starts with
/// those bytes. The calling connection then ends without calling `ended`.
using Divert = std::function<void(std::unique_ptr<WireStream> stream, std::vector<std::byte> came)>;

/// Serves the stream until it ends. `door` and `loop` must outlive the stream. `address` is the
/// client's address, for the log. If `divert` is null, all bytes are treated as frames.
std::shared_ptr<ServedStream> open_session_stream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop,
                                                  std::string address, ServedStreamEvents events, Divert divert);

}  // namespace muster
