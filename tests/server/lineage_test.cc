// Promises of the four systems of tests/lineage/README.md about talking to a running world.
#include <catch2/catch.hpp>

#include "registry/templates/template_tree.h"
#include "tests/server/live_world.h"

namespace lineage_test {

using namespace muster;
using namespace muster::testing;

namespace {

Result<session::Ack> define(Client& client, const TemplateTree& tree) {
  BatchBuilder builder;
  builder.append_table(TypeTraits<DefineTemplate>::id, {}, encode(*tree.compile()));
  return client.push_batch(builder.bytes());
}

}  // namespace

TEST_CASE("nebula 22: each request is answered with a status on its own connection, in whatever order one asks") {
  LiveWorld world;
  Client client = world.client(), other = world.client();
  const auto orc = client.create({}, "orc", arena::Health{});
  REQUIRE(orc.has_value());
  std::vector<std::uint64_t> requests;
  for (const Entity target : {*orc, Entity{900, 1}, *orc}) {
    BatchBuilder builder;
    builder.append(target, arena::Damage{.amount = 1});
    const auto posted = client.post_batch(builder.bytes());  // returns before anything was handled
    REQUIRE(posted.has_value());
    requests.push_back(*posted);
  }
  CHECK(client.wait_ack(requests[2])->handled == 1);
  CHECK(client.wait_ack(requests[1])->dead == 1);
  CHECK(client.wait_ack(requests[0])->handled == 1);
  CHECK(other.ask<session::GetInfo>()->entities == 1);
  CHECK(other.show(*orc)->get<arena::Health>()->value == 98);
}

TEST_CASE("nebula 22: a message that nobody knows is named in the answer, and malformed bytes end the connection") {
  LiveWorld world;
  const auto before = world.hash();
  const auto answer = [&](auto spoil) {
    BatchBuilder builder;
    builder.append(Entity{1, 1}, arena::Damage{});
    std::vector<std::byte> frame;
    append_frame(frame, builder.bytes(), 7);
    spoil(frame);
    RawClient raw(world.address());
    raw.hello();
    raw.send(frame);
    const session::Fault fault = raw.receive_fault();
    CHECK(fault.closes);
    CHECK(raw.closed());
    return fault;
  };
  const session::Fault unknown = answer([](std::vector<std::byte>& frame) { frame[16 + 4] ^= std::byte{0x55}; });
  CHECK(unknown.reason == "unknown_type");
  CHECK(unknown.text.find("is unknown") != std::string::npos);
  CHECK(answer([](std::vector<std::byte>& frame) { frame[0] = std::byte{72}; }).reason == "misaligned");
  CHECK(world.hash() == before);
  CHECK(world.client().ask<session::GetInfo>().has_value());  // the door is open
}

TEST_CASE("usagi 18: a network event goes by ids that all sides share; to one that nobody has it is dropped and told") {
  LiveWorld world;
  Client client = world.client();
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{}); });
  CHECK(client.push(orc, arena::Damage{.amount = 4})->handled == 1);  // no table between two kinds of ids
  CHECK(client.push(Entity{orc.index, 7}, arena::Damage{})->dead == 1);
  CHECK(client.push(Entity{4000, 1}, arena::Damage{})->dead == 1);
  CHECK(client.show(orc)->get<arena::Health>()->value == 96);
  // By the world's clock, not by the sender's.
  BatchBuilder inner, timed;
  inner.append(orc, arena::Damage{.amount = 6});
  timed.append_timed(1000, 0, inner.front());
  REQUIRE(client.push_batch(timed.bytes()).has_value());
  CHECK(client.show(orc)->get<arena::Health>()->value == 96);
  world.run([](EntityRegistry& r) { return r.advance(1000).handled; });
  CHECK(client.show(orc)->get<arena::Health>()->value == 90);
}

TEST_CASE("usagi 18: an event reaches everybody who watches for it, its sender too") {
  LiveWorld world;
  Client sender = world.client(), other = world.client();
  const auto orc = sender.create({}, "orc", arena::Health{});
  const session::Follow asked{.world = true, .inputs = true, .input_types = {TypeTraits<arena::Damage>::id}};
  const auto sent = sender.follow(asked), seen = other.follow(asked);
  const auto ack = sender.push(*orc, arena::Damage{.amount = 5});
  REQUIRE(ack.has_value());
  const auto heard = [&](Client& client, std::uint64_t watch) {
    for (;;) {
      const auto frame = client.next(watch, std::chrono::seconds(5));
      REQUIRE(frame.has_value());
      REQUIRE(frame->has_value());
      if ((*frame)->is_event()) return (*frame)->envelope;
    }
  };
  for (const FrameEnvelope& envelope : {heard(sender, *sent), heard(other, *seen)}) {
    CHECK(envelope.session == sender.welcome().session);
    CHECK(envelope.sequence == ack->sequence);
  }
}

TEST_CASE("bitsquid 27: a tool talks to the running engine in messages that describe themselves, by names alone") {
  LiveWorld world;
  Client tool = world.client(), second = world.client();
  // It learned messages and components from the engine.
  const TypeDescriptor* damage = tool.types().resolve("Damage");
  REQUIRE(damage != nullptr);
  CHECK(damage->fields[0].name == "amount");
  const auto orc = tool.create({}, "orc");
  REQUIRE(tool.set(*orc, "Health", {{"value", "50"}}).has_value());
  CHECK(tool.push("Damage", *orc, {{"amount", "8"}})->handled == 1);
  CHECK(second.push("Damage", *orc, {{"amount", "2"}})->handled == 1);
  CHECK(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(*orc).value; }) == 40);
  const auto unknown = tool.push("Domage", *orc, {});
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().text.find("Damage") != std::string::npos);  // and what was meant
}

TEST_CASE("bitsquid 27: data that was compiled anew is told to the engine, which uses it from then on") {
  LiveWorld world;
  Client tool = world.client();
  const auto spawned = [&] {
    return world.run([](EntityRegistry& r) { return r.get<arena::Health>(r.spawn("orc")).value; });
  };
  TemplateTree orc("orc"), stronger("orc");
  orc.set("", arena::Health{.value = 30});
  stronger.set("", arena::Health{.value = 60});
  REQUIRE(define(tool, orc).has_value());
  CHECK(spawned() == 30);
  REQUIRE(define(tool, stronger).has_value());
  CHECK(spawned() == 60);
}

}  // namespace lineage_test
