// What a client says, as the frames that programs here send by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"

namespace bench {

inline std::string frame_of(std::span<const std::byte> batch, std::uint64_t request) {
  std::vector<std::byte> frame;
  muster::append_frame(frame, batch, request);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

/// One message of a session in a frame.
template <class M>
std::string control_frame(const M& message, std::uint64_t request) {
  muster::BatchBuilder builder;
  muster::session::append(builder, message);
  return frame_of(builder.bytes(), request);
}

/// The Hello of who speaks every version of the protocol, under request 1.
inline std::string hello_frame(const std::string& token) {
  muster::session::Hello hello;
  hello.protocol = muster::session::protocol_newest;
  hello.protocol_oldest = muster::session::protocol_oldest;
  hello.token = token;
  return control_frame(hello, 1);
}

}  // namespace bench
