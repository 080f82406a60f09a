// A stream that carries frames. Until its Hello is accepted, it belongs to a stranger, and after
// that to a session. SessionProtocol handles the messages, and WireStream handles the bytes.
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

/// Takes over a stream whose first four bytes are not those of frames. `came` begins with these
/// bytes. The connection that calls it is then over and does not call `ended`.
using Divert = std::function<void(std::unique_ptr<WireStream> stream, std::vector<std::byte> came)>;

/// Serves the stream until it ends. `door` and `loop` must outlive the stream. `address` is the
/// client's address, for the log. If `divert` is null, all bytes are treated as frames.
std::shared_ptr<ServedStream> open_session_stream(std::unique_ptr<WireStream> stream, Door& door, Loop& loop,
                                                  std::string address, ServedStreamEvents events, Divert divert);

}  // namespace muster
