// Each limit of a server, hit exactly: as much as is allowed passes, and the least that is more is refused.
#include <catch2/catch.hpp>

#include "tests/server/live_world.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// A frame of exactly so many bytes: one Damage for many targets that are not there.
std::vector<std::byte> frame_of(std::size_t bytes) {
  for (std::size_t targets = 1;; targets += 2) {
    BatchBuilder builder;
    builder.append_shared(std::vector<Entity>(targets, Entity{1000, 1}), arena::Damage{});
    std::vector<std::byte> frame;
    append_frame(frame, builder.bytes(), 7);
    if (frame.size() == bytes) return frame;
    REQUIRE(frame.size() < bytes);
  }
}

/// A Hello frame of exactly so many bytes.
std::vector<std::byte> hello_of(std::size_t bytes) {
  for (std::size_t letters = 1;; ++letters) {
    session::Hello hello = hello_with();
    hello.name = std::string(letters, 'x');
    BatchBuilder builder;
    session::append(builder, hello);
    std::vector<std::byte> frame;
    append_frame(frame, builder.bytes(), 1);
    if (frame.size() == bytes) return frame;
    REQUIRE(frame.size() < bytes);
  }
}

/// They were sent, and nobody waits for their answers.
void post_hits(Client& client, Entity e, int times) {
  BatchBuilder hit;
  hit.append(e, arena::Damage{.amount = 1});
  for (int i = 0; i < times; ++i) REQUIRE(client.post_batch(hit.bytes()).has_value());
  REQUIRE(client.ask(session::Heartbeat{}).has_value());
}

/// The server hears a little later that somebody left.
Client connect_soon(const LiveWorld& world) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (true) {
    auto made = Client::connect(world.client_options());
    if (made) return std::move(*made);
    REQUIRE(made.error().fault.reason == "sessions_max");
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("a frame of exactly frame_bytes_max is taken; one of 16 bytes more is refused", "[limits]") {
  LiveWorldOptions options;
  options.limits.frame_bytes_max = 4096;
  LiveWorld world(options);
  RawClient client(world.address());
  client.hello();
  client.send(frame_of(4096));
  REQUIRE(client.receive()->is<session::Ack>());
  client.send(frame_of(4096 + 16));
  const session::Fault fault = client.receive_fault();
  CHECK(fault.reason == "oversized");
  CHECK(client.closed());
}

TEST_CASE("a Hello of exactly hello_bytes_max is taken; one of 16 bytes more is refused", "[limits]") {
  LiveWorldOptions options;
  options.limits.hello_bytes_max = 1024;
  LiveWorld world(options);
  {
    RawClient client(world.address());
    client.send(hello_of(1024));
    REQUIRE(client.receive()->is<session::Welcome>());
  }
  RawClient client(world.address());
  client.send(hello_of(1024 + 16));
  CHECK(client.receive_fault().reason == "oversized");
}

TEST_CASE("ids that a session has used make room for others", "[limits]") {
  LiveWorldOptions options;
  options.limits.unused_ids_max = 300;  // a client asks for 256 at a time
  LiveWorld world(options);
  Client client = world.client();
  for (int i = 0; i < 600; ++i) REQUIRE(client.create({}, "").has_value());
  CHECK(client.ask<session::GetInfo>()->entities == 600);
}

TEST_CASE("as many watches as a session may have; one more is refused, and taken when another has ended", "[limits]") {
  LiveWorldOptions options;
  options.limits.watches_max = 3;
  LiveWorld world(options);
  Client client = world.client();
  CHECK(client.welcome().watches_max == 3);
  const session::Follow all{.world = true, .values = true};
  std::vector<std::uint64_t> watches;
  for (int i = 0; i < 3; ++i) {
    const auto watch = client.follow(all);
    REQUIRE(watch.has_value());
    watches.push_back(*watch);
  }
  const auto fourth = client.follow(all);
  REQUIRE_FALSE(fourth.has_value());
  CHECK(fourth.error().fault.code == session::FaultCode::bad_question);
  Client other = world.client();
  CHECK(other.follow(all).has_value());  // a session's own
  REQUIRE(client.unwatch(watches[1]).has_value());
  CHECK(client.follow(all).has_value());
  CHECK_FALSE(client.follow(all).has_value());
}

TEST_CASE("a grant of exactly as many ids as allowed, one less than none left over, and none more", "[limits]") {
  LiveWorldOptions options;
  options.limits.grant_count_max = 100;
  options.limits.unused_ids_max = 250;
  LiveWorld world(options);
  RawClient client(world.address());
  client.hello();
  const auto ask = [&](std::uint32_t count) {
    client.send_message(session::RequestGrant{.count = count});
    const auto answer = client.receive();
    REQUIRE(answer.has_value());
    return answer->is<session::Granted>();
  };
  CHECK_FALSE(ask(0));
  CHECK_FALSE(ask(101));
  CHECK(ask(100));
  CHECK(ask(100));
  CHECK_FALSE(ask(51));
  CHECK(ask(49));
  CHECK(ask(1));  // 250
  CHECK_FALSE(ask(1));
}

TEST_CASE("a page holds exactly rows_max children; with one more there is another page", "[limits]") {
  LiveWorldOptions options;
  options.limits.rows_max = 5;
  LiveWorld world(options);
  Client client = world.client();
  const Entity parent = world.run([](EntityRegistry& r) { return r.create("parent"); });
  for (std::uint32_t count = 1; count <= 11; ++count) {
    CAPTURE(count);
    world.run([&](EntityRegistry& r) { return r.create_under(parent, "child " + std::to_string(count)).or_stop(); });
    std::uint32_t seen = 0, pages = 0;
    while (seen < count) {
      const auto page = client.ask(session::ListChildren{.entity = parent, .offset = seen});
      REQUIRE(page.has_value());
      CHECK(page->total == count);
      CHECK(page->entities.size() == std::min<std::size_t>(5, count - seen));
      REQUIRE_FALSE(page->entities.empty());
      seen += static_cast<std::uint32_t>(page->entities.size());
      ++pages;
    }
    CHECK(seen == count);
    CHECK(pages == (count + 4) / 5);
    CHECK(client.ask(session::ListChildren{.entity = parent, .limit = 6})->entities.size() ==
          std::min(5u, count));  // more is not given
  }
}

TEST_CASE("as many sessions as allowed; one more is told so", "[limits]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 3;
  options.limits.reserved_sessions = 0;
  LiveWorld world(options);
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(world.client());
  const auto fourth = Client::connect(world.client_options());
  REQUIRE_FALSE(fourth.has_value());
  CHECK(fourth.error().fault.code == session::FaultCode::limit_exceeded);
  for (Client& client : clients) CHECK(client.ask<session::GetInfo>().has_value());
}

TEST_CASE("who left while edits of its wait holds no place; they enter the world all the same", "[limits]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 1;
  options.limits.reserved_sessions = 0;
  LiveWorld world(options);
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{.value = 100}); });
  {
    Client first = world.client();
    world.hold(true);
    post_hits(first, e, 10);
  }
  Client second = connect_soon(world);
  world.hold(false);
  const auto health = [&] {
    return world.run([&](EntityRegistry& r) { return static_cast<int>(r.get<arena::Health>(e).value); });
  };
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (health() != 90 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  CHECK(health() == 90);
}

TEST_CASE("of more than left_sessions_max that left what the first of them sent is dropped", "[limits]") {
  LiveWorldOptions options;
  options.limits.sessions_max = 3;
  options.limits.reserved_sessions = 0;
  options.limits.left_sessions_max = 1;
  options.limits.intake_steps = 1;  // an edit at a time
  LiveWorld world(options);
  const Entity e = world.run([](EntityRegistry& r) { return r.create("e", arena::Health{.value = 100}); });
  {
    std::vector<Client> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(world.client());
    world.hold(true);
    for (Client& client : clients) post_hits(client, e, 10);
  }
  std::vector<Client> others;  // as they are let in, all of those left
  for (int i = 0; i < 3; ++i) others.push_back(connect_soon(world));
  world.hold(false);
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (others[0].ask<session::GetInfo>()->sessions > 3 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  CHECK(others[0].ask<session::GetInfo>()->sessions == 3);
  const int hits = 100 - world.run([&](EntityRegistry& r) { return static_cast<int>(r.get<arena::Health>(e).value); });
  // All of who left last, and what was taken of the others before that was known.
  CHECK(hits >= 10);
  CHECK(hits <= 12);
}

TEST_CASE("a path of exactly path_bytes_max is looked for; one byte more is refused", "[limits]") {
  LiveWorldOptions options;
  options.limits.path_bytes_max = 64;
  LiveWorld world(options);
  Client client = world.client();
  const std::string exact = "/" + std::string(63, 'x');
  const Entity there = world.run([&](EntityRegistry& r) { return r.create(exact.substr(1)); });
  const auto found = client.ask(session::Resolve{.path = exact});
  REQUIRE(found.has_value());
  REQUIRE(found->entities.size() == 1);
  CHECK(found->entities[0] == there);
  CHECK(found->paths[0] == exact);
  const auto longer = client.ask(session::Resolve{.path = exact + "y"});
  REQUIRE_FALSE(longer.has_value());
  CHECK(longer.error().text.find("64 are allowed") != std::string::npos);
  session::Find by_name;
  by_name.name = std::string(64, 'z');
  CHECK(client.ask(by_name).has_value());
  by_name.name += "z";
  CHECK_FALSE(client.ask(by_name).has_value());
}

TEST_CASE("who asks and does not read is waited for, whatever it asks; its answers are all there when it reads",
          "[limits]") {
  const test::Folder folder;
  LiveWorldOptions options;
  options.tcp = false;  // a Unix socket holds little by itself
  options.unix_path = folder / "socket";
  options.limits.outgoing.control_bytes_max = 256 << 10;
  LiveWorld world(options);
  RawClient client(world.address());
  client.hello();
  constexpr int asked = 200;
  std::vector<std::byte> frames;
  const auto append = [&](const auto& message, std::uint64_t request) {
    BatchBuilder builder;
    session::append(builder, message);
    append_frame(frames, builder.bytes(), request);
  };
  for (std::uint64_t i = 1; i <= asked; ++i) append(session::GetSchema{}, i);
  client.send(frames);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  int answered = 0;
  while (answered < asked) {
    const auto received = client.receive();
    REQUIRE(received.has_value());
    REQUIRE(received->is<session::Schema>());
    if (received->is_last()) ++answered;
  }
}

TEST_CASE("edits of who does not read their answers wait, and are all answered when it reads", "[limits]") {
  const test::Folder folder;
  LiveWorldOptions options;
  options.tcp = false;
  options.unix_path = folder / "socket";
  options.limits.outgoing.control_bytes_max = 64 << 10;
  LiveWorld world(options);
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 1000}); });
  RawClient client(world.address());
  client.hello();
  constexpr std::uint64_t edits = 10'000;
  std::vector<std::byte> frames;
  BatchBuilder hit;
  hit.append(orc, arena::Damage{.amount = 0});
  for (std::uint64_t i = 1; i <= edits; ++i) append_frame(frames, hit.bytes(), i);
  world.hold(true);  // so that all of them wait for the world at once
  client.send(frames);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  world.hold(false);
  for (std::uint64_t i = 1; i <= edits; ++i) {
    const auto received = client.receive();
    REQUIRE(received.has_value());
    REQUIRE(received->is<session::Ack>());
    REQUIRE(received->header.request == i);
  }
}

TEST_CASE("a client sends a frame of exactly the length that the server takes, and refuses a longer one itself",
          "[limits]") {
  LiveWorldOptions options;
  options.limits.frame_bytes_max = 4096;
  LiveWorld world(options);
  Client client = world.client();
  const auto send = [&](std::uint32_t bytes) {
    const std::vector<std::byte> frame = frame_of(bytes);
    return client.push_batch(std::vector(frame.begin() + sizeof(FrameHeader), frame.end()));
  };
  CHECK(send(4096).has_value());
  const auto longer = send(4096 + 16);
  REQUIRE_FALSE(longer.has_value());
  CHECK(longer.error().kind == ClientError::Kind::mistaken);
  CHECK(client.ask<session::GetInfo>().has_value());
}
