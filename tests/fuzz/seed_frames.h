// Builds the frames with which seeds of fuzz targets begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"

namespace muster::testing {

template <GeneratedType M>
std::string frame_of(const M& message, std::uint64_t request) {
  BatchBuilder builder;
  session::append(builder, message);
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), request);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

}  // namespace muster::testing
