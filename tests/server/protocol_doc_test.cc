// The example in docs/protocol.md is what the code sends.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "schema/muster.h"
#include "tests/messages/hex.h"

using namespace muster;

namespace {

/// As the page shows it: lines of 16 bytes, indented.
std::string shown(BatchBuilder& batch, std::uint64_t request) {
  std::vector<std::byte> frame;
  append_frame(frame, batch.bytes(), request);
  std::string text = test::hex_text(frame).substr(1);
  std::string indented = "    ";
  for (const char c : text) {
    indented += c;
    if (c == '\n') indented += "    ";
  }
  return indented + "\n";
}

}  // namespace

TEST_CASE("the frames in docs/protocol.md are the ones that are sent", "[protocol]") {
  std::ifstream file(MUSTER_PROTOCOL_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(page.empty());
  BatchBuilder heartbeat, destroy, ack;
  heartbeat.append_world(session::Heartbeat{.number = 1, .time_ns = 2, .answer = 0});
  destroy.append(Entity{12, 1}, Destroy{});
  ack.append_world(
      session::Ack{.sequence = 300, .durable_through = 290, .handled = 1, .unhandled = 0, .dead = 0, .cut_short = 0});
  for (const std::string& frame : {shown(heartbeat, 9), shown(destroy, 10), shown(ack, 10)}) {
    INFO(frame);
    CHECK(page.find(frame) != std::string::npos);
  }
}
