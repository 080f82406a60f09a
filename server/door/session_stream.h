// A stream that carries frames: a stranger's until its Hello is accepted, then a session's.
// SessionProtocol handles the messages, and WireStream the bytes.
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

/// Takes over a stream whose first four bytes, with which `came` begins, are not those of frames.
/// The calling connection is then over and does not call `ended`.
using Divert = std::function<void(std::unique_ptr<WireStream> stream, std::vector<std::byte> came)>;

/// Serves the stream until it ends; `door` and `loop` must outlive it. `address` is the client's,
/// for the log. If `divert` is null, all bytes are treated as frames.
std::shared_ptr<ServedStream> open_session_stream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop,
                                                  std::string address, ServedStreamEvents events, Divert divert);

}  // namespace muster
