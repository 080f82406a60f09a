// One user, or many strangers, at the door: what others get meanwhile, and how an admin ends it.
#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <future>

#include "server/door/disk_thread.h"
#include "server/door/users_changes.h"
#include "tests/server/door/web_client.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

namespace door_shares_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t large = 1u << 20;

/// The beginning of a frame of `bytes` bytes, of which a part comes.
void send_half_frame(RawClient& client, std::uint32_t bytes, std::size_t part) {
  std::vector<std::byte> sent(part);
  const FrameHeader header{.bytes = bytes, .flags = 0, .request = 5};
  std::memcpy(sent.data(), &header, sizeof header);
  client.send(sent);
}

std::chrono::nanoseconds time_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::steady_clock::now() - begin;
}

template <class F>
bool soon(F f) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!f())
    if (std::chrono::steady_clock::now() > until)
      return false;
    else
      std::this_thread::sleep_for(5ms);
  return true;
}

}  // namespace

TEST_CASE("who is kicked or revoked is told so at once, and sends nothing more to the world", "[shares]") {
  const test::Folder folder;
  const auto tokens = tokens_by_role(folder / "users");
  LiveWorld world({.users_file = folder / "users"});
  Client admin = world.client();
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 100}); });
  const auto ends = [&](const std::function<void()>& end, session::FaultCode code, const char* reason) {
    std::deque<RawClient> sessions;
    for (int i = 0; i < 3; ++i) sessions.emplace_back(world.address()).hello(tokens.at(session::Role::edit));
    RawClient other(world.address());
    other.hello(tokens.at(session::Role::view));
    world.hold(true);
    BatchBuilder hit;
    hit.append(orc, arena::Damage{.amount = 1});
    for (RawClient& session : sessions) session.send_frame(hit.bytes(), 0);
    sessions.front().send_message(session::Heartbeat{.number = 1}, 3);
    REQUIRE(sessions.front().receive());
    CHECK(time_of(end) < 1s);
    for (RawClient& session : sessions) {
      const session::Fault fault = session.receive_fault();
      CHECK(fault.code == code);
      CHECK(fault.reason == reason);
      CHECK(session.closed());
    }
    other.send_message(session::Heartbeat{.number = 1}, 3);
    CHECK(other.receive());
    CHECK(soon([&] { return world.listener().streams() == 2; }));
    world.hold(false);
  };
  ends([&] { CHECK(admin.ask(session::Kick{.name = "editor"})->sessions == 3); }, session::FaultCode::kicked, "kicked");
  ends([&] { CHECK(admin.ask(session::RevokeToken{.name = "editor"}).has_value()); }, session::FaultCode::bad_token,
       "token_ended");
  CHECK(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(orc).value; }) == 100);
  CHECK(admin.ask(session::Kick{.name = "viewer"})->sessions == 0);
  CHECK(admin.ask(session::Kick{.name = "editor"}).error().fault.reason == "not_found");
}

TEST_CASE("an admin who kicks themselves is answered, and then all of their sessions end", "[shares]") {
  const test::Folder folder;
  LiveWorld world({.users_file = folder / "users"});
  const auto boss =
      world.client().ask(session::CreateToken{.name = "boss", .role = static_cast<std::uint8_t>(session::Role::admin)});
  REQUIRE(boss.has_value());
  RawClient asking(world.address()), other(world.address());
  asking.hello(boss->token);
  other.hello(boss->token);
  asking.send_message(session::Kick{.name = "boss"}, 3);
  const auto answer = asking.receive();
  REQUIRE(answer);
  REQUIRE(answer->is<session::Kicked>());
  CHECK(session::read<session::Kicked>(answer->batch()).sessions == 2);
  for (RawClient* each : {&asking, &other}) {
    CHECK(each->receive_fault().reason == "kicked");
    CHECK(each->closed());
  }
}

TEST_CASE("frames whose rest never comes take their user's share of memory, and end after a while", "[shares]") {
  const test::Folder folder;
  const auto tokens = tokens_by_role(folder / "users");
  LiveWorldOptions options{.users_file = folder / "users"};
  options.limits.user_frames_bytes_max = 3 * large;
  options.limits.frames_bytes_max = 5 * large;
  options.limits.stall_max = 2s;
  LiveWorld world(options);
  const auto batch_of = [](std::size_t bytes) {
    BatchBuilder builder(16u << 20);
    session::append(builder, InternText{.text = std::string(bytes, 'x')});
    return std::vector<std::byte>(builder.bytes().begin(), builder.bytes().end());
  };
  // Answers, because a text so long is refused.
  const auto is_answered = [&](RawClient& client, std::size_t bytes) {
    client.send_frame(batch_of(bytes), 7);
    return client.receive().has_value();
  };
  std::deque<RawClient> half;
  for (int i = 0; i < 3; ++i) {
    half.emplace_back(world.address()).hello(tokens.at(session::Role::edit));
    send_half_frame(half.back(), large, large / 2);
  }
  RawClient same(world.address()), other(world.address()), owner(world.address());
  same.hello(tokens.at(session::Role::edit));
  other.hello(tokens.at(session::Role::control));
  owner.hello();
  std::this_thread::sleep_for(100ms);
  CHECK(is_answered(same, 1000));
  CHECK(is_answered(other, large));
  CHECK(is_answered(owner, 4 * large));
  // It has to wait until the others have ended.
  const auto waited = time_of([&] { CHECK(is_answered(same, large)); });
  CHECK(waited > 1s);
  for (RawClient& client : half) {
    const session::Fault fault = client.receive_fault();
    CHECK(fault.reason == "half_frame");
    CHECK(fault.text == "a frame of 1048576 bytes has begun, but nothing more of it came for 2 s");
  }
}

TEST_CASE("a download of the page goes on while strangers come in crowds", "[shares]") {
  const test::Folder folder;
  std::filesystem::create_directories(folder / "page");
  test::write_file(folder / "page/index.html", "<!doctype html>");
  std::string much;
  for (std::uint64_t i = 0; much.size() < 8'000'000; ++i) much += std::to_string(i * 7919);
  test::write_file(folder / "page/big.js", much);
  LiveWorldOptions options{.page_folder = folder / "page"};
  options.limits.strangers_max = 16;
  options.limits.hello_time_max = 60s;
  LiveWorld world(options);
  HttpClient client(world.address());
  client.send(client.request("/big.js"));
  std::deque<RawClient> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(world.address());
  CHECK(world.listener().streams() <= 20);
  const auto reply = client.receive();
  REQUIRE(reply);
  CHECK(reply->body == much);
  // Those that ask and do not read leave places for others.
  std::deque<HttpClient> slow;
  for (int i = 0; i < 100; ++i) {
    slow.emplace_back(world.address());
    slow.back().send(slow.back().request("/big.js"));
  }
  for (int i = 0; i < 5; ++i) CHECK(HttpClient(world.address()).get("/").status == 200);
}

TEST_CASE("nobody waits for a disk on which the list of users or a file of the world hangs", "[shares]") {
  DiskThread disk;
  std::promise<void> goes_on;
  std::atomic<int> done = 0;
  disk.run([&] { goes_on.get_future().wait(); }, [&] { ++done; });
  CHECK(time_of([&] { disk.run([] {}, [&] { ++done; }); }) < 1s);
  CHECK(done == 0);
  goes_on.set_value();
  CHECK(soon([&] { return done == 2; }));

  // The thread outlives its object where the disk does not answer.
  const auto hangs = std::make_shared<std::promise<void>>();
  auto other = std::make_unique<DiskThread>();
  other->run([hangs] { hangs->get_future().wait(); }, [&] { ++done; });
  std::this_thread::sleep_for(50ms);
  CHECK(time_of([&] { other.reset(); }) < 3s);
  hangs->set_value();
  std::this_thread::sleep_for(50ms);
  CHECK(done == 2);
}

TEST_CASE("changes of the list of users are written one after another, and hold from when they are on disk",
          "[shares]") {
  const test::Folder folder;
  Users users({}, folder / "users");
  UsersChanges changes(users);
  std::deque<std::pair<std::move_only_function<void()>, std::move_only_function<void()>>> waiting;
  changes.write_beside([&](auto write, auto then) { waiting.emplace_back(std::move(write), std::move(then)); });
  std::vector<std::string> made;
  const auto add = [&](const std::string& name) {
    changes.make([name](const Users& all) { return all.to_create(name, session::Role::edit, 0, Users::Clock::now()); },
                 [&made, name](const UsersChanges::Change& change) {
                   made.push_back(change ? name + " is " + std::to_string(change->user) : change.error().reason);
                 });
  };
  add("ann");
  add("bob");
  add("ann");
  CHECK(users.all().empty());
  REQUIRE(waiting.size() == 1);
  const auto finish = [&] {
    auto first = std::move(waiting.front());
    waiting.pop_front();
    first.first();
    first.second();
  };
  finish();
  CHECK(made == std::vector<std::string>{"ann is 1"});
  REQUIRE(waiting.size() == 1);
  changes.make([](const Users& all) { return all.to_revoke("ann"); },
               [&](const UsersChanges::Change& change) { made.push_back("revoked " + std::to_string(change->user)); });
  finish();
  finish();
  CHECK(waiting.empty());
  CHECK(made == std::vector<std::string>{"ann is 1", "bob is 2", "name_taken", "revoked 1"});
  CHECK(Users({}, folder / "users").all().size() == 2);
  CHECK(users.find("ann") == nullptr);

  // Then the next list cannot be written.
  std::filesystem::create_directory(folder / "users-new");
  test::write_file(folder / "users-new/x", "");
  add("eve");
  finish();
  CHECK(made.back() == "users_file");
  CHECK(users.all().size() == 2);
}

}  // namespace door_shares_test
