// The frames that lie in a session's queue, read as its client would read them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>
#include "tests/support/catch_or_abort.h"

#include "messages/frame.h"
#include "server/session/outgoing.h"

namespace muster::testing {

/// Feeds `bytes` to the decoder and calls frame(const WireFrame&) for each whole frame; fails where they are none.
template <class F>
void decode(FrameDecoder& decoder, std::span<const std::byte> bytes, F&& frame) {
  while (!bytes.empty()) {
    const auto room = decoder.room();
    const std::size_t part = std::min(room.size(), bytes.size());
    std::ranges::copy(bytes.first(part), room.begin());
    decoder.received(part);
    bytes = bytes.subspan(part);
    while (true) {
      const auto next = decoder.next();
      REQUIRE(next.has_value());
      if (!*next) break;
      frame(**next);
    }
  }
}

/// Takes one write's worth from the queue, as a connection would, and decodes it. False: nothing was queued.
template <class F>
bool take_frames(Outgoing& outgoing, FrameDecoder& decoder, F&& frame) {
  OutgoingPiece piece;
  if (!outgoing.take(piece)) return false;
  outgoing.sent();
  for (const std::span<const std::byte> part : piece.parts()) decode(decoder, part, frame);
  return true;
}

/// Takes all that is queued.
template <class F>
void take_all_frames(Outgoing& outgoing, F&& frame) {
  FrameDecoder decoder(256u << 20, true);
  while (take_frames(outgoing, decoder, frame)) {
  }
}

}  // namespace muster::testing
