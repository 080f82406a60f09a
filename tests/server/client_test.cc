// The client library's own part: what it asks, keeps, refuses by itself and says of what went wrong.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/server/live_world.h"

namespace client_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

std::uint64_t sequence(Client& client) { return client.ask<session::GetInfo>().value().sequence; }

template <class T>
std::string why(const Result<T>& result) {
  return result ? std::string("done") : result.error().text;
}

}  // namespace

TEST_CASE("ids come one by one from a grant of 256, and from the next when that is used up", "[client]") {
  LiveWorld world;
  Client client = world.client();
  std::vector<Entity> ids;
  for (int i = 0; i < 512; ++i) ids.push_back(client.next_id().value());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    CAPTURE(i);
    CHECK(ids[i].generation == 1);
    if (i != 256) CHECK(ids[i].index == ids[i - 1].index + 1);
  }
}

TEST_CASE("a text is told to the world once, and an empty one never", "[client]") {
  LiveWorld world;
  Client client = world.client();
  CHECK(client.intern("").value() == Text{});
  const std::uint64_t before = sequence(client);
  const Text tower = client.intern("tower").value();
  CHECK(tower == Text{hash64("tower")});
  CHECK(sequence(client) == before + 1);
  CHECK(client.text(tower) == "tower");
  CHECK(client.intern("tower").value() == tower);
  CHECK(sequence(client) == before + 1);
  Client other = world.client();
  CHECK(other.text(tower).empty());
  CHECK(other.fetch_text(tower).value() == "tower");
  CHECK(other.text(tower) == "tower");
  CHECK(other.fetch_text(Text{}).value().empty());
  CHECK(other.fetch_text(Text{5}).error().fault.code == session::FaultCode::not_found);
}

TEST_CASE("an entity is named by an id without being asked for, by a path or a name; several and none are told",
          "[client]") {
  LiveWorld world;
  Client client = world.client();
  CHECK(client.entity("12:3").value() == Entity{12, 3});
  CHECK(client.entity("#12:3").value() == Entity{12, 3});
  const Entity town = client.create({}, "town").value(), inner = client.create(town, "town").value();
  CHECK(client.entity("/town").value() == town);
  CHECK(client.entity("/town/town").value() == inner);
  CHECK(why(client.entity("nobody")) == "no entity is named 'nobody'");
  CHECK(why(client.entity("town")) ==
        "'town' matches several entities:\n  " + id_text(town) + "  /town\n  " + id_text(inner) + "  /town/town");
  for (int i = 0; i < 20; ++i)
    REQUIRE(client.create(town, "twin" + std::string(i % 2 ? "" : "s")).has_value() == (i < 2));
  for (int i = 0; i < 21; ++i) {
    const Entity room = client.create(inner, "room" + std::to_string(i)).value();
    REQUIRE(client.create(room, "chair"));
  }
  CHECK(why(client.entity("chair")).ends_with("\n  ..."));
}

TEST_CASE("values are set, pushed and taken away by name, and what has no such name is the caller's mistake",
          "[client]") {
  LiveWorld world;
  Client client = world.client();
  const Entity orc =
      client.create({}, "orc", arena::Health{.value = 50, .armored = true, .team = arena::Team::Blue}).value();
  REQUIRE(client.set(orc, "Health", {{"team", "Green"}}));
  CHECK(client.show(orc)->get<arena::Health>() ==
        arena::Health{.value = 50, .armored = true, .team = arena::Team::Green});
  REQUIRE(client.set_field(orc, "arena.Health.value", "7"));
  CHECK(client.show(orc)->get<arena::Health>()->value == 7);
  REQUIRE(client.set(orc, "Target", {{"enemy", "orc"}}));
  CHECK(client.show(orc)->get<arena::Target>()->enemy == orc);
  REQUIRE(client.remove(orc, "Target"));
  CHECK_FALSE(client.show(orc)->get<arena::Target>());
  const auto hit = client.push("Damage", orc, {{"amount", "2"}});
  REQUIRE(hit);
  CHECK(hit->handled == 1);
  CHECK(client.show(orc)->get<arena::Health>()->value == 5);
  const auto said = client.push("Say", {}, {{"text", "hello"}});
  REQUIRE(said);
  CHECK(said->sequence == sequence(client));
  CHECK(client.push("Damage", {}, {{"amount", "2"}})->handled == 1);  // to the world
  CHECK(client.show(orc)->get<arena::Health>()->value == 3);
  for (const auto& result :
       {client.set(orc, "Helth", {}), client.set(orc, "Health", {{"valu", "1"}}), client.set_field(orc, "Health", "1"),
        client.set_field(orc, "Health.value", "x"), client.push("Damge", orc, {}), client.push("Say", orc, {}),
        client.push("Damage", orc, {{"by", "nobody"}}), client.remove(orc, "Damage")}) {
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ClientError::Kind::mistaken);
  }
  CHECK(why(client.push("Damage", orc, {{"by", "nobody"}})) == "arena.Damage.by: no entity is named 'nobody'");
  CHECK(client.set(Entity{9999, 1}, "Health", {}).error().fault.code == session::FaultCode::dead_entity);
}

TEST_CASE("what a watch brings and nobody fetches ends it above its bound, and nothing else", "[client]") {
  LiveWorld world;
  ClientOptions options = world.client_options();
  options.watch_bytes_max = 4096;
  Client client = Client::connect(options).value();
  const Entity orc = client.create({}, "orc", arena::Health{}).value();
  const session::Follow values{.entities = {orc}, .values = true};
  const std::uint64_t watch = client.follow(values).value(), other = client.follow(values).value();
  CHECK(watch != other);
  CHECK(why(client.next(77, 0s)) == "no watch has the id 77");
  float newest = -1;
  const auto take = [&](const Received& frame) {
    CHECK(frame.header.request == other);
    if (!frame.is<session::Values>()) return;
    const auto rows = session::read<session::Values>(frame.batch());
    if (rows.component == TypeTraits<arena::Health>::id)
      std::memcpy(&newest, rows.values.data() + offsetof(arena::Health, value), sizeof newest);
  };
  for (int i = 0; i < 200; ++i) {
    REQUIRE(client.set(orc, arena::Health{.value = static_cast<float>(i)}));
    while (newest != static_cast<float>(i)) {  // else several of them would be told as one
      const auto frame = client.next(other, 5s);
      REQUIRE(frame.value());
      take(**frame);
    }
  }
  const auto full = client.next(watch, 0s);
  REQUIRE_FALSE(full);
  CHECK(full.error().kind == ClientError::Kind::refused);
  CHECK(full.error().text == "a watch delivered more than 4096 bytes that were not fetched");
  REQUIRE(client.unwatch(watch));
  CHECK_FALSE(client.next(watch, 0s));
  CHECK(client.ask<session::GetInfo>());
  REQUIRE(client.unwatch(other));
  CHECK(client.next(0, 0s).value() == std::nullopt);
}

TEST_CASE("an answer is waited for once, and what is too long for the server is not sent", "[client]") {
  LiveWorldOptions small;
  small.limits.frame_bytes_max = 4096;
  LiveWorld world(small);
  Client client = world.client();
  CHECK(why(client.wait(99)) == "no answer is expected for request 99");
  BatchBuilder question;
  session::append(question, session::GetInfo{});
  const std::uint64_t request = client.send(question.bytes()).value();
  CHECK(client.wait(request)->size() == 1);
  CHECK(why(client.wait(request)) == "no answer is expected for request " + std::to_string(request));
  const auto push = [&](std::size_t letters) {
    return client.push_batch([&] {
      static BatchBuilder builder;
      builder.clear();
      session::append(builder, arena::Say{.text = std::string(letters, 'a')});
      return builder.bytes();
    }());
  };
  CHECK(push(3000));
  CHECK(why(push(5000)).ends_with(" bytes; the server accepts frames of at most 4096"));
  CHECK(push(5000).error().kind == ClientError::Kind::mistaken);
  CHECK(client.post_batch(question.bytes(), false).value() == 0);
  CHECK(client.ask<session::GetInfo>());
}

TEST_CASE("a server that is not there, or is no server, is told with its address", "[client]") {
  const auto connect = [](std::string address) {
    ClientOptions options;
    options.address = std::move(address);
    options.time_max = 5s;
    return why(Client::connect(options));
  };
  CHECK(connect("nowhere") == "'nowhere' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH");
  CHECK(connect("unix:") == "'' is not a valid socket path");
  CHECK(connect("unix:" + std::string(108, 'a')) == "'" + std::string(108, 'a') + "' is not a valid socket path");
  CHECK(connect("unix:" + std::string(107, 'a')) ==
        "cannot connect to " + std::string(107, 'a') + ": No such file or directory");
  CHECK(connect("127.0.0.1:1").starts_with("cannot connect to 127.0.0.1:1: "));
  CHECK(connect("[::1]:1").starts_with("cannot connect to [::1]:1: "));
  CHECK(connect("127.0.0.1:http").starts_with("cannot connect to 127.0.0.1:http: "));
}

TEST_CASE("a watch whose caller gave up while the world was busy is ended, and the session has none", "[client]") {
  LiveWorld world;
  ClientOptions options = world.client_options();
  options.time_max = 100ms;
  Client client = Client::connect(options).value();
  world.hold(true);
  CHECK(client.follow({.world = true, .values = true}).error().kind == ClientError::Kind::late);
  world.hold(false);
  Client other = world.client();
  bool was_open = false;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(client.next(0, 10ms));
    const auto watches = other.ask<session::ListSessions>().value().watches;
    was_open = was_open || watches[0] == 1;
    if (watches[0] == 0 && i > 20) break;
  }
  CHECK(other.ask<session::ListSessions>().value().watches[0] == 0);
}

TEST_CASE("a client that gives credit as it fetches is told all, and little waits for it", "[client]") {
  LiveWorld world;
  world.run([](EntityRegistry& registry) {
    registry.create_many(50'000, arena::Health{});
    return 0;
  });
  Client client = world.client();
  REQUIRE(client.give_credit(100'000));
  session::Follow all;
  all.world = all.values = true;
  all.components = {TypeTraits<arena::Health>::id};
  const std::uint64_t watch = client.follow(all).value();
  std::uint64_t rows = 0, fetched = 0, fetched_then = 0;
  for (bool whole = false; !whole;) {
    auto frame = client.next(watch, 5s);
    REQUIRE((frame && *frame));
    fetched += (*frame)->header.bytes;
    CHECK(client.received_bytes() - fetched < 300'000);  // schemas among them
    if ((*frame)->is<session::Values>()) rows += session::read<session::Values>((*frame)->batch()).entities.size();
    whole = (*frame)->is_last() && rows > 0;
    if (fetched - fetched_then < 50'000) continue;
    REQUIRE(client.give_credit(100'000));
    fetched_then = fetched;
  }
  CHECK(rows == 50'000);
  CHECK(fetched > 400'000);  // of which all but the first part came by credit that was given on the way
}

}  // namespace client_test
