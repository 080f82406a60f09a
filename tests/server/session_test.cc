#include <catch2/catch.hpp>

#include "registry/profile.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

namespace session_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("nebula 12: a client connects, creates an entity, edits it and reads it back", "[session]") {
  LiveWorld world;
  Client client = world.client();
  REQUIRE(client.welcome().world == "arena");
  REQUIRE(client.welcome().role == session::Role::admin);
  REQUIRE(client.types().find("arena.Health") != nullptr);
  REQUIRE(client.types().fingerprint() == client.welcome().schema_fingerprint);

  const auto orc = client.create({}, "orc", arena::Health{.value = 30}, arena::Position{1, 2, 3});
  REQUIRE(orc.has_value());
  const auto ack = client.push(*orc, arena::Damage{.amount = 7});
  REQUIRE(ack.has_value());
  REQUIRE(ack->handled == 1);
  REQUIRE(ack->sequence > 0);
  const auto shown = client.show(*orc);
  REQUIRE(shown.has_value());
  REQUIRE(shown->about.path == "/orc");
  REQUIRE(shown->get<arena::Health>()->value == 23);
  REQUIRE(shown->get<arena::Position>()->z == 3);
  REQUIRE(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(*orc).value; }) == 23);
}

TEST_CASE("set by a component's name changes the fields that are named and keeps the others", "[session]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Position{1, 2, 3});
  REQUIRE(orc.has_value());
  const auto place = [&] { return world.run([&](EntityRegistry& r) { return r.get<arena::Position>(*orc); }); };
  REQUIRE(client.set(*orc, "Position", {{"y", "5"}}).has_value());
  CHECK(place() == arena::Position{1, 5, 3});
  REQUIRE(client.set(*orc, "Position", {{"x", "7"}, {"z", "9"}}).has_value());
  CHECK(place() == arena::Position{7, 5, 9});
  REQUIRE(client.set(*orc, "Position", {}).has_value());
  CHECK(place() == arena::Position{7, 5, 9});
  // One that it has not begins with its defaults.
  REQUIRE(client.remove(*orc, "Position").has_value());
  REQUIRE(client.set(*orc, "Position", {{"y", "5"}}).has_value());
  CHECK(place() == arena::Position{.y = 5});
}

TEST_CASE("the same over a Unix socket that only its owner may open", "[session]") {
  const muster::test::Folder folder;
  const std::string path = folder / "socket";
  LiveWorldOptions options;
  options.tcp = false;
  options.unix_path = path;
  LiveWorld world(options);
  auto client = Client::connect({.address = "unix:" + path, .token = token, .name = "test"});
  REQUIRE(client.has_value());
  REQUIRE(client->create({}, "elf").has_value());
  REQUIRE(client->ask<session::GetInfo>()->entities == 1);
}

TEST_CASE("a session reads its own writes, however they are pipelined", "[session]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Health{.value = 1000});
  for (int i = 1; i <= 200; ++i) {
    BatchBuilder builder;
    builder.append(*orc, arena::Damage{.amount = 1});
    const auto posted = client.post_batch(builder.bytes());
    REQUIRE(posted.has_value());
    const auto shown = client.show(*orc);
    REQUIRE(shown.has_value());
    REQUIRE(shown->get<arena::Health>()->value == 1000.0f - static_cast<float>(i));
    REQUIRE(client.wait_ack(*posted).has_value());
  }
}

TEST_CASE("children are listed in parts, with names, counts and components", "[session]") {
  LiveWorld world;
  const Entity town = world.run([](EntityRegistry& r) {
    const Entity made = r.create("town");
    for (int i = 0; i < 25; ++i)
      r.create_under(made, "house" + std::to_string(i), arena::Position{double(i), 0, 0}).or_stop();
    r.create_under(r.find_child(made, "house3"), "door").or_stop();
    return made;
  });
  Client client = world.client();
  const auto roots = client.ask<session::ListChildren>();
  REQUIRE(roots.has_value());
  REQUIRE(roots->total == 1);
  REQUIRE(roots->entities == std::vector<Entity>{town});
  REQUIRE(roots->child_counts[0] == 25);
  const auto part = client.ask(session::ListChildren{.entity = town, .offset = 20, .limit = 10});
  REQUIRE(part->total == 25);
  REQUIRE(part->entities.size() == 5);
  REQUIRE(part->names[0] == "house20");
  const auto first = client.ask(session::ListChildren{.entity = town, .offset = 3, .limit = 1});
  REQUIRE(first->entities.size() == 1);
  REQUIRE(first->child_counts[0] == 1);
  REQUIRE(first->component_counts[0] == first->components.size());
  REQUIRE(std::ranges::count(first->components, TypeTraits<arena::Position>::id) == 1);
  REQUIRE(client.ask(session::ListChildren{.entity = Entity{77, 1}}).error().fault.code ==
          session::FaultCode::dead_entity);
}

TEST_CASE("entities are found by path, by the end of a path, by name and by component", "[session]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    const Entity north = r.create("north"), south = r.create("south");
    r.create_under(north, "tower", arena::Health{}).or_stop();
    r.create_under(south, "tower").or_stop();
    r.create_under(south, "a/b").or_stop();
    return 0;
  });
  Client client = world.client();
  REQUIRE(client.ask(session::Resolve{.path = "/north/tower"})->paths == std::vector<std::string>{"/north/tower"});
  REQUIRE(client.ask(session::Resolve{.path = "tower"})->entities.size() == 2);
  REQUIRE(client.ask(session::Resolve{.path = "south/tower"})->paths == std::vector<std::string>{"/south/tower"});
  REQUIRE(client.ask(session::Resolve{.path = "a\\/b"})->entities.size() == 1);
  REQUIRE(client.ask(session::Resolve{.path = "/nowhere"})->entities.empty());
  REQUIRE(client.ask(session::Resolve{.path = ""}).error().fault.code == session::FaultCode::bad_question);
  REQUIRE(client.ask(session::Resolve{.path = "tower", .limit = 1})->more);

  session::Find find;
  find.name = "TOW";
  REQUIRE(client.ask(find)->entities.size() == 2);
  find.components = {TypeTraits<arena::Health>::id};
  REQUIRE(client.ask(find)->paths == std::vector<std::string>{"/north/tower"});
  session::Find page;
  page.limit = 2;
  const auto first = client.ask(page);
  REQUIRE(first->more);
  page.after = first->entities.back();
  page.limit = 10;
  const auto second = client.ask(page);
  REQUIRE_FALSE(second->more);
  REQUIRE(first->entities.size() + second->entities.size() == 5);
  REQUIRE(second->entities.front() > first->entities.back());
}

TEST_CASE("an edit that the world refuses says why, where, and what the field holds now", "[session]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Health{.value = 30});
  REQUIRE(client.create({}, "orc").error().fault.reason == "name_taken");

  SetFieldIf edit{};
  edit.set.component = TypeTraits<arena::Health>::id;
  edit.set.field = hash32("value");
  edit.set.bytes = 4;
  const float expected = 10, wanted = 20;
  std::memcpy(&edit.set.value, &wanted, 4);
  std::memcpy(&edit.expected, &expected, 4);
  const auto refused = client.push(*orc, edit);
  REQUIRE_FALSE(refused.has_value());
  REQUIRE(refused.error().kind == ClientError::Kind::refused);
  REQUIRE(refused.error().fault.reason == "value_mismatch");
  REQUIRE(refused.error().fault.field == "value");
  REQUIRE(refused.error().fault.entity == *orc);
  REQUIRE(refused.error().fault.value.size() == 4);
  float now = 0;
  std::memcpy(&now, refused.error().fault.value.data(), 4);
  REQUIRE(now == 30);
  REQUIRE(client.show(*orc)->get<arena::Health>()->value == 30);

  const auto dead = client.push(Entity{12345, 1}, arena::Damage{});
  REQUIRE(dead.has_value());
  REQUIRE(dead->dead == 1);
}

TEST_CASE("two clients work at once and each gets its own acknowledgements", "[session]") {
  LiveWorld world;
  Client first = world.client(), second = world.client();
  REQUIRE(first.welcome().session != second.welcome().session);
  const auto a = first.create({}, "a", arena::Health{.value = 500});
  const auto b = second.create({}, "b", arena::Health{.value = 500});
  REQUIRE(*a != *b);
  std::vector<std::uint64_t> posted_first, posted_second;
  for (int i = 0; i < 100; ++i) {
    BatchBuilder to_b, to_a;
    to_b.append(*b, arena::Damage{.amount = 1});
    to_a.append(*a, arena::Damage{.amount = 2});
    posted_first.push_back(first.post_batch(to_b.bytes()).value());
    posted_second.push_back(second.post_batch(to_a.bytes()).value());
  }
  for (const auto request : posted_first) REQUIRE(first.wait_ack(request)->handled == 1);
  for (const auto request : posted_second) REQUIRE(second.wait_ack(request)->handled == 1);
  REQUIRE(first.show(*a)->get<arena::Health>()->value == 300);
  REQUIRE(second.show(*b)->get<arena::Health>()->value == 400);
  REQUIRE(first.ask<session::GetInfo>()->sessions == 2);
}

TEST_CASE("a save that fails is told, and the session goes on", "[session]") {
  LiveWorld world;
  Client client = world.client();
  REQUIRE(client.ask<session::Save>().has_value());
  world.fail_saves(true);
  const auto failed = client.ask<session::Save>();
  REQUIRE(failed.error().fault.code == session::FaultCode::failed);
  REQUIRE(failed.error().text == "the disk is full");
  REQUIRE(client.ask<session::GetInfo>().has_value());
}

TEST_CASE("texts come before the values that mention them, once per session", "[session]") {
  LiveWorld world;
  const Entity sign = world.run(
      [](EntityRegistry& r) { return r.create("sign", arena::Label{.title = r.intern("Beware of the dog")}); });
  Client client = world.client();
  const auto shown = client.show(sign);
  REQUIRE(shown.has_value());
  REQUIRE(client.text(shown->get<arena::Label>()->title) == "Beware of the dog");
}

TEST_CASE("a trace ends with the session that began it, and others may begin one then", "[session]") {
  LiveWorld world;
  Client other = world.client();
  {
    Client client = world.client();
    REQUIRE(client.ask<session::BeginTrace>().has_value());
    const auto second = other.ask<session::BeginTrace>();
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().fault.reason == "trace_running");
    CHECK_FALSE(other.end_trace().has_value());
  }
  while (other.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_FALSE(world.run([](EntityRegistry& r) { return r.profile().observing(); }));
  REQUIRE(other.ask<session::BeginTrace>().has_value());
  REQUIRE(other.create({}, "").has_value());
  const auto trace = other.end_trace();
  REQUIRE(trace.has_value());
  CHECK(trace->slices > 0);
}

TEST_CASE("a trace that takes several frames comes whole", "[session]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Health{});
  REQUIRE(client.ask<session::BeginTrace>().has_value());
  world.run([&](EntityRegistry& r) {
    for (int i = 0; i < 3000; ++i) r.push(*orc, arena::Damage{.amount = 0});
    return 0;
  });
  const auto trace = client.end_trace();
  REQUIRE(trace.has_value());
  CHECK(trace->bytes.size() > 512u << 10);  // a frame has a quarter of a MiB
  const std::string_view text(reinterpret_cast<const char*>(trace->bytes.data()), trace->bytes.size());
  CHECK(text.starts_with(R"({"displayTimeUnit")"));
  CHECK(text.ends_with("]}\n"));
  std::size_t slices = 0;
  for (std::size_t at = text.find(R"({"ph": "X")"); at != text.npos; at = text.find(R"({"ph": "X")", at + 1)) ++slices;
  CHECK(slices == trace->slices);
}

}  // namespace session_test
