// The example in docs/protocol.md is what the code sends.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/judge/verifier.h"
#include "messages/row_set.h"
#include "messages/session.h"
#include "messages/type_table.h"
#include "registry/storage/text_table.h"
#include "schema/muster.h"
#include "tests/messages/hex.h"
#include "tests/server/live_world.h"

namespace protocol_doc_test {

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

std::string read_page() {
  std::ifstream file(MUSTER_PROTOCOL_PAGE);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(page.empty());
  return page;
}
/// 1048576 as 1,048,576.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}
std::string hex(std::uint64_t number, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

TEST_CASE("the frames in docs/protocol.md are the ones that are sent", "[protocol]") {
  const std::string page = read_page();
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

TEST_CASE("the hashes in docs/protocol.md are those of types, fields and texts", "[protocol]") {
  const std::string page = read_page();
  const auto says = [&](const std::string& line) {
    INFO(line);
    CHECK(page.find(line) != std::string::npos);
  };
  says("`muster.session.Hello`: " + hex(TypeTraits<session::Hello>::id, 8));
  TypeTable types;
  REQUIRE(types.add<arena::Position>());
  const FieldPlace* const place = types.place(*types.find("arena.Position"), hash32("x"));
  REQUIRE(place != nullptr);
  CHECK(place->path == "x");
  says("`position.x`: " + hex(hash32("position.x"), 8));
  says("`slots[2].count`: " + hex(hash32("slots[2].count"), 8));
  says("`tower`: " + hex(text_of("tower").hash, 16));
  CHECK(text_of("").hash == 0);
}

TEST_CASE("the limits of batches in docs/protocol.md are those of the verifier, met exactly", "[protocol]") {
  const std::string page = read_page();
  const VerifierLimits limits;
  for (const std::string& row :
       {"| messages of one batch (of kind shared: targets) | " + grouped(limits.count_max) + " |",
        "| components of a row set | " + grouped(row_set_components_max) + " |",
        "| " + grouped(limits.table_tables_max) + "; " + grouped(limits.table_depth_max) +
            "; about 4 times its bytes |"}) {
    INFO(row);
    CHECK(page.find(row) != std::string::npos);
  }
  TypeTable types;
  REQUIRE(types.add<Destroy>());
  const auto judged = [&](std::size_t targets) {
    BatchBuilder builder(64u << 20);
    const std::vector<Entity> all(targets, Entity{1, 1});
    builder.append_shared(all, Destroy{});
    return verify_batch(builder.front().bytes(), types);
  };
  CHECK(judged(limits.count_max).has_value());
  REQUIRE_FALSE(judged(limits.count_max + 1).has_value());
  CHECK(judged(limits.count_max + 1).error().fault == Fault::wrong_count);
}

TEST_CASE("the payload of a row set ends with its last component, as docs/batches.md says", "[protocol]") {
  BatchBuilder builder;
  builder.append_rows(Entity{1, 1}, Remove{}, arena::Hidden{});
  const BatchHeader& header = builder.front().header();
  CHECK(header.payload_bytes == sizeof(Remove) + sizeof(arena::Hidden));
  CHECK(header.payload_bytes % 8 != 0);
  CHECK(header.item_bytes == 16);
}

TEST_CASE("a path's names are escaped as docs/protocol.md says, in Resolve and in what is shown", "[protocol]") {
  testing::LiveWorld world;
  const auto [odd, below] = world.run([](EntityRegistry& r) {
    const Entity made = r.create("a/b\\c");
    return std::pair<Entity, Entity>(made, r.create_under(made, "tower"));
  });
  Client client = world.client();
  const auto resolved = [&](std::string_view path) {
    return client.ask(session::Resolve{.path = std::string(path)})->entities;
  };
  CHECK(resolved("/a\\/b\\\\c/tower") == std::vector{below});
  CHECK(resolved("a\\/b\\\\c") == std::vector{odd});
  CHECK(resolved("/\\a\\/b\\\\c") == std::vector{odd});
  CHECK(resolved("/a/b\\\\c").empty());
  CHECK(resolved("#1:1").empty());
  CHECK(client.show(below)->about.path == "/a\\/b\\\\c/tower");
}

}  // namespace protocol_doc_test
