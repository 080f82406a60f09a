// What a broken, hostile or merely unlucky client is told, word for word; and that the world and everybody else are as before.
#include <catch2/catch.hpp>

#include "registry/host.h"
#include "tests/server/live_world.h"

namespace bad_input_test {

using namespace muster;
using namespace muster::testing;

namespace {

constexpr Entity orc{1, 1};

/// A world with one orc, and somebody who must not notice anything.
struct Scene {
  LiveWorld world;
  Client bystander;
  std::uint64_t before;

  explicit Scene(LiveWorldOptions options = {}) : world(options), bystander(world.client()) {
    REQUIRE(world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 30}); }) == orc);
    before = world.hash();
  }
  ~Scene() {
    CHECK(world.hash() == before);
    const auto shown = bystander.show(orc);
    REQUIRE(shown.has_value());
    CHECK(shown->get<arena::Health>()->value == 30);
  }
};

std::vector<std::byte> hit_frame(Entity target = orc) {
  BatchBuilder builder;
  builder.append(target, arena::Damage{.amount = 5});
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), 7);
  return frame;
}
void put(std::vector<std::byte>& frame, std::size_t at, std::uint32_t value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
}
/// Where the first frame behind RawClient::hello begins.
std::string at_second_frame() {
  BatchBuilder builder;
  session::append(builder, hello_with());
  return " (at byte " + std::to_string(sizeof(FrameHeader) + builder.bytes().size()) + " of the stream)";
}

/// Sends it in a session of its own; the last thing that the session says.
session::Fault last_word(Scene& scene, std::span<const std::byte> bytes, bool ends = false) {
  RawClient client(scene.world.address());
  client.hello();
  client.send(bytes);
  if (ends) client.end();
  const session::Fault fault = client.receive_fault();
  CHECK(fault.closes);
  CHECK(client.closed());
  return fault;
}

}  // namespace

TEST_CASE("a stream that ends inside a frame", "[bad]") {
  Scene scene;
  const auto frame = hit_frame();
  const session::Fault fault = last_word(scene, std::span(frame).first(20), true);
  CHECK(fault.code == session::FaultCode::bad_frame);
  CHECK(fault.reason == "ended_inside");
  CHECK(fault.text == "the stream ended 20 bytes into a frame" + at_second_frame());
}

TEST_CASE("a frame longer than Welcome allowed is refused from its header alone", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 0, (16u << 20) + 16);
  const session::Fault fault = last_word(scene, frame);
  CHECK(fault.reason == "oversized");
  CHECK(fault.text == "a frame of 16777232 bytes; the limit is 16777216" + at_second_frame());
}

TEST_CASE("a frame whose length is no multiple of 16, and one too short for a batch", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 0, 72);
  session::Fault fault = last_word(scene, frame);
  CHECK(fault.reason == "misaligned");
  CHECK(fault.text == "a frame of 72 bytes; the size must be a multiple of 16" + at_second_frame());
  put(frame, 0, 32);
  fault = last_word(scene, frame);
  CHECK(fault.reason == "too_short");
  CHECK(fault.text == "a frame of 32 bytes; the minimum is 48" + at_second_frame());
}

TEST_CASE("unknown frame flags, and an envelope from a client", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 4, 16);
  session::Fault fault = last_word(scene, frame);
  CHECK(fault.reason == "unknown_flag");
  CHECK(fault.text == "frame flags 16; this version supports 15" + at_second_frame());
  put(frame, 4, frame_envelope);
  fault = last_word(scene, frame);
  CHECK(fault.reason == "unexpected_envelope");
  CHECK(fault.text ==
        "unexpected envelope in a frame to the server: only the server writes envelopes" + at_second_frame());
  for (const std::uint32_t flags : {std::uint32_t{frame_more}, std::uint32_t{frame_event}}) {
    put(frame, 4, flags);
    fault = last_word(scene, frame);
    CHECK(fault.reason == "unknown_flag");
    CHECK(fault.text ==
          "frame flags " + std::to_string(flags) + "; frames to the server have none" + at_second_frame());
  }
}

TEST_CASE("a message of a type that nobody knows", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 16 + 4, 12345);
  const session::Fault fault = last_word(scene, frame);
  CHECK(fault.code == session::FaultCode::bad_batch);
  CHECK(fault.reason == "unknown_type");
  CHECK(fault.type == 12345);
  CHECK(fault.offset == 4);
  CHECK(fault.text == "message type id 12345 is unknown");
}

TEST_CASE("a count that does not fit the bytes", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 16 + 12, 2);
  session::Fault fault = last_word(scene, frame);
  CHECK(fault.reason == "wrong_count");
  CHECK(fault.text == "2 messages need a batch of 80 bytes; the batch declares 64");
  put(frame, 16 + 12, 0);
  fault = last_word(scene, frame);
  CHECK(fault.text == "batch declares no messages");
}

TEST_CASE("a batch shorter than its frame, and padding that is not zero", "[bad]") {
  Scene scene;
  auto frame = hit_frame();
  put(frame, 16, 32);
  session::Fault fault = last_word(scene, frame);
  CHECK(fault.text == "batch declares 32 bytes; the frame holds 64");
  frame = hit_frame();
  put(frame, 16 + 32 + 12, 1);  // between Damage.amount and Damage.by
  fault = last_word(scene, frame);
  CHECK(fault.reason == "nonzero_padding");
  CHECK(fault.field == "amount");
  CHECK(fault.text == "arena.Damage: the padding after amount is 1, expected 0");
}

TEST_CASE("a message that only servers send, and one that nobody may send", "[bad]") {
  Scene scene;
  BatchBuilder builder;
  session::append(builder, session::Ack{});
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), 1);
  session::Fault fault = last_word(scene, frame);
  CHECK(fault.code == session::FaultCode::wrong_direction);
  CHECK(fault.text == "muster.session.Ack is sent only by servers");
  builder.clear();
  builder.append_world(Update{.dt = 1});
  frame.clear();
  append_frame(frame, builder.bytes(), 1);
  fault = last_word(scene, frame);
  CHECK(fault.text == "muster.Update may not be sent from outside");
}

TEST_CASE("each role may do what it may, and is told which right it lacks", "[bad]") {
  Scene scene;
  Client viewer = scene.world.client(viewer_token), editor = scene.world.client(editor_token);
  const auto viewed = viewer.push(orc, arena::Damage{.amount = 1});
  REQUIRE_FALSE(viewed.has_value());
  CHECK(viewed.error().kind == ClientError::Kind::refused);
  CHECK(viewed.error().fault.code == session::FaultCode::no_right);
  CHECK(viewed.error().text == "arena.Damage needs the right to edit; this session has the right to view");
  CHECK(viewer.set(orc, arena::Health{}).error().text ==
        "muster.Set needs the right to edit; this session has the right to view");
  CHECK(viewer.show(orc).has_value());
  CHECK(editor.push(arena::Blast{}).error().text ==
        "arena.Blast needs the right to control; this session has the right to edit");
  CHECK(editor.set(orc, arena::Gravity{}).error().text ==
        "arena.Gravity needs the right to control; this session has the right to edit");
  CHECK(editor.set(orc, arena::Score{}).error().text == "arena.Score is not written from outside");
  CHECK(editor.ask<session::Save>().error().text ==
        "muster.session.Save needs the right to control; this session has the right to edit");
  CHECK(editor.show(orc).has_value());
}

TEST_CASE("a timer's number is the world's to choose", "[bad]") {
  Scene scene;
  Client client = scene.world.client();
  BatchBuilder inner, builder;
  inner.append(orc, arena::Damage{.amount = 1});
  builder.append_timed(1'000'000'000'000, ~std::uint64_t{0}, inner.front());
  const auto refused = client.push_batch(builder.bytes());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fault.reason == "timer_chosen");
  CHECK(refused.error().text ==
        "a timed message from outside must have timer 0, because the world numbers it; this one has "
        "18446744073709551615");
}

TEST_CASE("an id that was not granted creates nothing", "[bad]") {
  LiveWorld world;
  Client client = world.client();
  BatchBuilder builder;
  builder.append(Entity{500, 1}, Create{});
  const auto refused = client.push_batch(builder.bytes());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fault.reason == "id_not_granted");
  CHECK(refused.error().text == "#500:1 was not granted to this session, or is already used");
  CHECK(client.ask<session::GetInfo>()->entities == 0);
}

TEST_CASE("an id that was granted to another session creates nothing, and stays that session's", "[bad]") {
  LiveWorld world;
  Client client = world.client(), other = world.client();
  const auto granted = other.ask(session::RequestGrant{.count = 2});
  REQUIRE(granted.has_value());
  const Entity theirs{granted->first, 1};
  BatchBuilder builder;
  builder.append(theirs, Create{});
  const auto refused = client.push_batch(builder.bytes());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fault.reason == "id_not_granted");
  CHECK(client.ask<session::GetInfo>()->entities == 0);
  CHECK(other.push_batch(builder.bytes()).has_value());
  CHECK(client.ask<session::GetInfo>()->entities == 1);
}

TEST_CASE("ids that a session did not use are there again when it has ended", "[bad]") {
  LiveWorld world;
  const auto granted = [&] {
    return world.run([](EntityRegistry& r) {
      std::uint32_t count = 0;
      for (std::uint32_t i = 1; i < r.host().storage().ids().indices(); ++i)
        count += r.host().storage().in_state(Entity{i, 1}, IdState::granted);
      return count;
    });
  };
  {
    Client client = world.client();
    REQUIRE(client.create({}, "one").has_value());
    REQUIRE(client.create({}, "two").has_value());
    CHECK(granted() > 0);
  }
  for (int i = 0; i < 200 && granted() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(granted() == 0);
  CHECK(world.client().ask<session::GetInfo>()->entities == 2);
}

TEST_CASE("one session holds a bounded number of unused ids", "[bad]") {
  LiveWorldOptions options;
  options.limits.unused_ids_max = 300;
  LiveWorld world(options);
  RawClient client(world.address());
  client.hello();
  client.send_message(session::RequestGrant{.count = 200});
  REQUIRE(client.receive()->is<session::Granted>());
  client.send_message(session::RequestGrant{.count = 200});
  CHECK(client.receive_fault().text == "this session has 200 unused ids; 300 are allowed");
  client.send_message(session::RequestGrant{.count = 100});
  CHECK(client.receive()->is<session::Granted>());
}

TEST_CASE("a server that stops tells everybody who is there", "[bad]") {
  LiveWorld world;
  Client watching = world.client();
  const auto watch = watching.follow({.world = true, .values = true});
  RawClient raw(world.address());
  raw.hello();
  world.stop_listening();
  const session::Fault fault = raw.receive_fault();
  CHECK(fault.code == session::FaultCode::stopping);
  CHECK(fault.text == "the server stops");
  CHECK(raw.closed());
  while (true) {
    const auto frame = watching.next(*watch, std::chrono::seconds(5));
    if (frame.has_value() && frame->has_value()) continue;
    REQUIRE_FALSE(frame.has_value());
    CHECK(frame.error().kind == ClientError::Kind::lost);
    CHECK(frame.error().text == "the server stops");
    break;
  }
}

TEST_CASE("a client that reads nothing is dropped; nobody waits for it", "[bad]") {
  LiveWorldOptions options;
  options.limits.stall_max = std::chrono::milliseconds(300);
  options.limits.outgoing.control_bytes_max = 256 << 10;
  Scene scene(options);
  RawClient deaf(scene.world.address());
  deaf.hello();
  BatchBuilder builder;
  session::append(builder, session::GetSchema{});
  std::vector<std::byte> frames;
  for (std::uint64_t i = 1; i <= 5000; ++i) append_frame(frames, builder.bytes(), i);
  deaf.send(frames);
  for (int i = 0; i < 500 && scene.world.listener().streams() > 1; ++i) {
    REQUIRE(scene.bystander.show(orc).has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(scene.world.listener().streams() == 1);
}

}  // namespace bad_input_test
