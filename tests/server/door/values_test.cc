// Numbers and texts that a client may not send: refused at the door with message, field, value and what is allowed; the session goes on.
#include <catch2/catch.hpp>
#include <limits>

#include "registry/templates/template_tree.h"
#include "tests/registry/sight.h"
#include "tests/server/live_world.h"

namespace values_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

constexpr Entity orc{1, 1};
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

struct Scene {
  LiveWorld world;
  Client client;
  std::uint64_t before;

  Scene() : world(), client(world.client()) {
    REQUIRE(world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 30}); }) == orc);
    before = world.hash();
  }
  ~Scene() {
    CHECK(world.hash() == before);
    CHECK(client.show(orc).has_value());
  }
  session::Fault refused(const Result<session::Ack>& result) {
    REQUIRE_FALSE(result.has_value());
    CHECK_FALSE(result.error().fault.closes);
    return result.error().fault;
  }
};

}  // namespace

TEST_CASE("a number beyond its field is refused with message, field, value and range, and the session goes on",
          "[bad]") {
  Scene scene;
  session::Fault fault = scene.refused(scene.client.set(orc, arena::Health{.value = 1001}));
  CHECK(fault.code == session::FaultCode::refused);
  CHECK(fault.reason == "out_of_range");
  CHECK(fault.text == "arena.Health.value is 1001; expected a number from 0 to 1000");
  CHECK(fault.type == TypeTraits<arena::Health>::id);
  CHECK(fault.field == "value");
  CHECK(fault.refused == 1);
  fault = scene.refused(scene.client.push(orc, arena::Damage{.amount = no_number}));
  CHECK(fault.reason == "not_finite");
  CHECK(fault.text == "arena.Damage.amount is nan; expected a finite number");
  CHECK(fault.type == TypeTraits<arena::Damage>::id);
  const auto made = scene.client.create({}, "troll", arena::Position{.y = -std::numeric_limits<double>::infinity()});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().text == "arena.Position.y is -inf; expected a finite number");
  fault = scene.refused(scene.client.push(orc, Destroy{.reserved = 3}));
  CHECK(fault.reason == "not_zero");
  CHECK(fault.text == "muster.Destroy.reserved is 3; it is reserved and must be 0");
  scene.before = scene.world.hash();  // ids were granted, and a name was told
}

TEST_CASE("one bad number of many refuses the batch whole", "[bad]") {
  Scene scene;
  BatchBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.append(orc, arena::Damage{.amount = i == 700 ? no_number : 1.f});
  const session::Fault fault = scene.refused(scene.client.push_batch(builder.bytes()));
  CHECK(fault.refused == 1000);
  CHECK(fault.sequence == 0);
}

TEST_CASE("a bad number is found among good messages of its kind, and those before and behind it are taken", "[bad]") {
  LiveWorld world;
  const Entity unit = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 1000}); });
  Client client = world.client();
  const auto hit = [&](float amount) {
    BatchBuilder builder;
    builder.append(unit, arena::Damage{.amount = amount});
    const auto request = client.send(builder.bytes());
    REQUIRE(request.has_value());
    return *request;
  };
  std::vector<std::uint64_t> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(hit(i % 8 == 5 ? no_number : 1.f));
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const auto answer = client.wait(requests[static_cast<std::size_t>(i)]);
    if (i % 8 == 5) {
      REQUIRE_FALSE(answer.has_value());
      CHECK(answer.error().text == "arena.Damage.amount is nan; expected a finite number");
    } else {
      REQUIRE(answer.has_value());
    }
  }
  CHECK(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(unit).value; }) == 1000 - 35);
}

TEST_CASE("a message like the one before is judged by the types as they are when it comes", "[bad]") {
  LiveWorld world;
  const Entity unit = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 1000}); });
  Client client = world.client();
  REQUIRE(client.push(unit, arena::Damage{.amount = 1}).has_value());
  REQUIRE(client.push(unit, arena::Damage{.amount = 1}).has_value());
  const auto schema = std::span(TypeTraits<sight::Steer>::schema);
  session::AddSchema added;
  for (const auto byte : std::as_bytes(schema)) added.bytes.push_back(std::to_integer<std::uint8_t>(byte));
  REQUIRE(client.ask_all(added).has_value());
  CHECK(client.push(unit, arena::Damage{.amount = no_number}).error().text ==
        "arena.Damage.amount is nan; expected a finite number");
  REQUIRE(client.push(unit, arena::Damage{.amount = 1}).has_value());
  REQUIRE(client.push(unit, arena::Damage{.amount = 1}).has_value());
  CHECK(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(unit).value; }) == 996);
}

TEST_CASE("a text that is no UTF-8, or has a zero byte, is not taken, in an edit or in a question", "[bad]") {
  Scene scene;
  CHECK(scene.client.intern("T\xfcr").error().text == "muster.InternText.text: is not valid UTF-8 at byte 1");
  CHECK(scene.client.intern(std::string_view("a\0b", 3)).error().fault.reason == "bad_text");
  const auto found = scene.client.ask(session::Find{.name = "\xff", .components = {}});
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().fault.code == session::FaultCode::bad_question);
  CHECK(found.error().fault.field == "name");
  CHECK(found.error().text == "muster.session.Find.name: is not valid UTF-8 at byte 0");
  CHECK(scene.client.ask(session::Resolve{.path = std::string("/a\0", 3)}).error().fault.reason == "bad_text");
  CHECK(scene.client.follow({.rate_max = no_number}).error().text ==
        "muster.session.Follow.rate_max: is nan; expected a finite number");
}

TEST_CASE("a Hello whose texts are none ends the connection", "[bad]") {
  LiveWorld world;
  RawClient client(world.address());
  session::Hello hello = hello_with();
  hello.name = "\xff";
  client.send_message(hello);
  const session::Fault fault = client.receive_fault();
  CHECK(fault.closes);
  CHECK(fault.reason == "bad_text");
  CHECK(client.closed());
}

TEST_CASE("under request 0 nothing is answered, and nothing happens", "[bad]") {
  Scene scene;
  RawClient client(scene.world.address());
  client.hello();
  BatchBuilder builder;
  builder.append(orc, arena::Damage{.amount = no_number});
  client.send_frame(builder.bytes(), 0);
  client.send_message(session::Heartbeat{.number = 7, .time_ns = 0, .answer = 0}, 5);
  const auto next = client.receive();
  REQUIRE(next.has_value());
  CHECK(next->is<session::Heartbeat>());
}

TEST_CASE("who lacks the right is told that, not what is wrong with the value", "[bad]") {
  Scene scene;
  Client viewer = scene.world.client(viewer_token);
  CHECK(viewer.push(orc, arena::Damage{.amount = no_number}).error().fault.reason == "no_right");
}

TEST_CASE("values in a template are refused with the node, by DefineTemplate and by a file", "[bad]") {
  Scene scene;
  const DefineTemplate tower = scene.world.run([](EntityRegistry&) {
    TemplateTree tree("tower");
    tree.set("", arena::Health{.value = 5});
    return *tree.compile();
  });
  DefineTemplate bad = tower;
  const float value = -1;
  std::memcpy(bad.nodes[0].components[0].value.data(), &value, sizeof value);
  BatchBuilder builder;
  builder.append_table(TypeTraits<DefineTemplate>::id, {}, encode(bad));
  const session::Fault fault = scene.refused(scene.client.push_batch(builder.bytes()));
  CHECK(fault.reason == "out_of_range");
  CHECK(fault.text == "node 0 of the template: arena.Health.value is -1; expected a number from 0 to 1000");
  const auto read =
      scene.client.read_templates(R"({templates: [{name: "t", components: {"Health": {value: -1}}}]})", "t.json");
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().fault.reason == "bad_templates");
  CHECK(read.error().text.find("a number from 0 to 1000") != std::string::npos);
  CHECK_FALSE(scene.client.read_templates(R"({templates: [{name: "a\u0000b"}]})", "t.json").has_value());
}

TEST_CASE("what the world's own code wrote is shown as it is, and other fields beside it can be written", "[bad]") {
  LiveWorld world;
  REQUIRE(world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = no_number}); }) == orc);
  Client client = world.client();
  const auto shown = client.show(orc);
  REQUIRE(shown.has_value());
  CHECK(shown->get<arena::Health>()->value != shown->get<arena::Health>()->value);
  CHECK(client.set_field(orc, "Health.armored", "true").has_value());
}

}  // namespace values_test
