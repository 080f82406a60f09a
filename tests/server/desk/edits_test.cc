#include <algorithm>
#include <catch2/catch.hpp>

#include "registry/host.h"
#include "registry/templates/template_tree.h"
#include "tests/server/live_world.h"

namespace edits_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// The fault that the client's batch was refused with.
session::Fault refused(const Result<session::Ack>& result) {
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().kind == ClientError::Kind::refused);
  return result.error().fault;
}

std::vector<Entity> granted(Client& client, std::uint32_t count) {
  std::vector<Entity> ids;
  while (ids.size() < count) {
    const auto answer =
        client.ask(session::RequestGrant{.count = std::min(count - static_cast<std::uint32_t>(ids.size()), 1u << 16)});
    REQUIRE(answer.has_value());
    const session::Granted grant = *answer;
    for (std::uint32_t i = 0; i < grant.count && ids.size() < count; ++i) ids.push_back({grant.first + i, 1});
  }
  return ids;
}

}  // namespace

TEST_CASE("destroying or moving a large subtree is refused with limit and cost, and nothing of it happens", "[abuse]") {
  LiveWorldOptions options;
  options.limits.edit_steps_max = 5000;
  LiveWorld world(options);
  const auto [town, other, few] = world.run([](EntityRegistry& r) {
    const Entity made = r.create("town"), elsewhere = r.create("elsewhere"), small = r.create("small");
    for (int i = 0; i < 6000; ++i) r.create_under(made, "").or_stop();
    for (int i = 0; i < 100; ++i) r.create_under(small, "").or_stop();
    return std::tuple(made, elsewhere, small);
  });
  Client client = world.client();
  const std::uint64_t before = world.hash();
  const session::Fault fault = refused(client.destroy(town));
  CHECK(fault.code == session::FaultCode::refused);
  CHECK(fault.reason == "edit_steps_max");
  CHECK(
      fault.text ==
      "muster.Destroy would cost 5001 steps or more; 5000 are allowed for one batch, and it may be split into several");
  CHECK(fault.refused == 1);
  CHECK(refused(client.reparent(town, other)).reason == "edit_steps_max");
  CHECK(world.hash() == before);
  // In parts it is allowed.
  REQUIRE(client.reparent(few, other).has_value());
  REQUIRE(client.destroy(few).has_value());
  CHECK(client.ask<session::GetInfo>()->entities == 6002);
}

TEST_CASE("entities that are named beside their parents are counted once when they are destroyed", "[abuse]") {
  LiveWorldOptions options;
  options.limits.edit_steps_max = 5000;
  LiveWorld world(options);
  const auto made = world.run([](EntityRegistry& r) {
    std::vector<Entity> line;
    for (int i = 0; i < 500; ++i) line.push_back(r.create_under(i ? line.back() : Entity{}, ""));
    return line;
  });
  Client client = world.client();
  const auto done = client.push(std::span<const Entity>(made), Destroy{});
  REQUIRE(done.has_value());
  CHECK(client.ask<session::GetInfo>()->entities == 0);
}

TEST_CASE("moves into what moves are counted at their worst", "[abuse]") {
  LiveWorldOptions options;
  options.limits.edit_steps_max = 20'000;
  LiveWorld world(options);
  const auto [pair, leaves] = world.run([](EntityRegistry& r) {
    std::vector<Entity> ends{r.create("a"), r.create("b"), r.create("x")}, all;
    for (int i = 0; i < 1000; ++i) all.push_back(r.create_under({}, ""));
    return std::pair(ends, all);
  });
  Client client = world.client();
  const auto batch = [&](bool into_moving) {
    BatchBuilder builder;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      builder.append(leaves[i], Reparent{.parent = pair[2]});
      if (into_moving) builder.append(pair[2], Reparent{.parent = pair[i % 2]});
    }
    return client.push_batch(builder.bytes());
  };
  CHECK(refused(batch(true)).reason == "edit_steps_max");
  CHECK(batch(false).has_value());
}

TEST_CASE("spawns are counted in entities and bytes, for all their trees", "[abuse]") {
  LiveWorldOptions options;
  options.limits.edit_steps_max = 10'000;
  LiveWorld world(options);
  world.run([](EntityRegistry& r) {
    TemplateTree squad("squad");
    for (int i = 0; i < 49; ++i) squad.set("unit" + std::to_string(i), arena::Health{});
    r.define_template(squad);
    return 0;
  });
  Client client = world.client();
  const auto ids = granted(client, 5000);
  const auto spawn = [&](std::size_t trees) {
    BatchBuilder builder;
    builder.append_shared(std::span(ids).first(trees * 50), Spawn{.what = text_of("squad")});
    return client.push_batch(builder.bytes());
  };
  CHECK(refused(spawn(100)).reason == "edit_steps_max");
  CHECK(client.ask<session::GetInfo>()->entities == 0);
  CHECK(spawn(20).has_value());
  CHECK(client.ask<session::GetInfo>()->entities == 1000);
}

TEST_CASE("no edit makes the hierarchy deeper than is stated", "[abuse]") {
  LiveWorldOptions options;
  options.limits.depth_max = 20;
  LiveWorld world(options);
  const auto line = world.run([](EntityRegistry& r) {
    std::vector<Entity> made;
    for (int i = 0; i <= 20; ++i) made.push_back(r.create_under(i ? made.back() : Entity{}, ""));
    TemplateTree deep("deep");
    deep.set("a/b/c", arena::Health{});
    r.define_template(deep);
    return made;
  });
  Client client = world.client();
  CHECK(client.create(line[19], "fits").has_value());
  const auto too_deep = client.create(line[20], "deep");
  REQUIRE_FALSE(too_deep.has_value());
  CHECK(too_deep.error().fault.reason == "depth_max");
  CHECK(too_deep.error().text.ends_with("would be 21 levels below its root; 20 are allowed"));

  const auto ids = granted(client, 30);
  BatchBuilder chain;
  for (std::size_t i = 0; i < 22; ++i) chain.append(ids[i], Create{.parent = i ? ids[i - 1] : Entity{}});
  CHECK(refused(client.push_batch(chain.bytes())).reason == "depth_max");
  CHECK(client.ask<session::GetInfo>()->entities == 22);

  const auto top = client.create({}, "top");
  const auto below = client.create(*top, "below");
  REQUIRE(below.has_value());
  CHECK(refused(client.reparent(*top, line[19])).reason == "depth_max");
  CHECK(client.reparent(*below, line[19]).has_value());
  const auto spawn = [&](Entity parent) {
    BatchBuilder builder;
    builder.append_shared(std::span(ids).first(4), Spawn{.what = text_of("deep"), .parent = parent});
    return client.push_batch(builder.bytes());
  };
  CHECK(refused(spawn(line[17])).reason == "depth_max");
  CHECK(spawn(line[16]).has_value());
}

TEST_CASE("a session creates with its own ids only", "[abuse]") {
  LiveWorld world;
  world.run([](EntityRegistry& r) {
    TemplateTree one("one");
    r.define_template(one);
    return 0;
  });
  Client owner = world.client(), thief = world.client();
  const auto ids = granted(owner, 10);
  const auto own = granted(thief, 2);
  const auto create = [&](Client& by, Entity e) {
    BatchBuilder builder;
    builder.append(e, Create{});
    return by.push_batch(builder.bytes());
  };
  CHECK(refused(create(thief, ids[0])).reason == "id_not_granted");
  BatchBuilder spawn;
  const Entity wanted[] = {ids[1]};
  spawn.append_shared(wanted, Spawn{.what = text_of("one")});
  CHECK(refused(thief.push_batch(spawn.bytes())).reason == "id_not_granted");
  BatchBuilder several;
  several.append(own[0], Create{});
  several.append(ids[2], Create{});
  CHECK(refused(thief.push_batch(several.bytes())).entity == ids[2]);
  CHECK(thief.ask<session::GetInfo>()->entities == 0);
  CHECK(create(owner, ids[0]).has_value());
  CHECK(create(thief, own[0]).has_value());
  const auto behind = granted(owner, 1);
  REQUIRE(behind[0].index == own[1].index + 1);
  CHECK(refused(create(thief, behind[0])).reason == "id_not_granted");
  // What the world hands out itself cannot be guessed either.
  const Entity next = world.run(
      [](EntityRegistry& r) { return Entity{static_cast<std::uint32_t>(r.host().storage().ids().indices()), 1}; });
  CHECK(refused(create(thief, next)).reason == "id_not_granted");
}

TEST_CASE("ids granted to sessions that ended are granted again, and the world does not grow", "[abuse]") {
  LiveWorld world;
  const auto indices = [&] { return world.run([](EntityRegistry& r) { return r.host().storage().ids().indices(); }); };
  std::size_t after_first = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<Client> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(world.client());
      const auto ids = granted(clients.back(), 65'536);
      // One in the middle is used: what is left of each grant are two parts.
      BatchBuilder builder;
      builder.append(ids[30'000], Create{});
      REQUIRE(clients.back().push_batch(builder.bytes()).has_value());
    }
    if (round == 0) after_first = indices();
    // At most a grant's worth for what was used, and for who had not quite left when others asked.
    CHECK(indices() <= after_first + 65'536);
    Client watcher = world.client();
    clients.clear();
    while (watcher.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(1ms);
  }
}

TEST_CASE("an id that a timer of a session will create stays that timer's when the session ends") {
  LiveWorld world;
  std::vector<Entity> ids;
  {
    Client client = world.client();
    ids = granted(client, 200);
    BatchBuilder create, timed;
    create.append(ids[100], Create{});
    timed.append_timed(1'000'000, 0, create.front());
    REQUIRE(client.push_batch(timed.bytes()).has_value());
  }
  Client other = world.client();
  while (other.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(1ms);
  const auto own = granted(other, 500);
  CHECK(std::ranges::count(own, ids[99]) == 1);
  CHECK(std::ranges::count(own, ids[100]) == 0);
  world.run([](EntityRegistry& r) { return r.advance(1'000'000); });
  CHECK(world.run([&](EntityRegistry& r) { return r.alive(ids[100]); }));
}

TEST_CASE("ids that a timer of an ended session named go back when it is cancelled, by whomever, or over without them",
          "[abuse]") {
  LiveWorld world;
  std::vector<Entity> ids;
  std::vector<std::uint64_t> timers;
  const auto create_later = [&](Client& client, std::uint64_t due_ns, std::size_t first, std::size_t count) {
    BatchBuilder create, timed;
    for (std::size_t i = first; i < first + count; ++i) create.append(ids[i], Create{});
    timers.push_back(world.run([](EntityRegistry& r) { return r.host().next_timer(); }));
    timed.append_timed(due_ns, 0, create.front());
    REQUIRE(client.push_batch(timed.bytes()).has_value());
  };
  {
    Client client = world.client();
    ids = granted(client, 200);
    create_later(client, 1'000'000, 0, 100);
    create_later(client, 2'000'000, 50, 100);
    create_later(client, 3'000'000, 150, 50);
  }
  Client other = world.client();
  while (other.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(1ms);
  const auto granted_now = [&] {
    return world.run([&](EntityRegistry& r) {
      return std::ranges::count_if(ids, [&](Entity e) { return r.host().storage().in_state(e, IdState::granted); });
    });
  };
  CHECK(granted_now() == 200);
  // What two timers name stays until both are over.
  REQUIRE(other.push(CancelTimer{.timer = timers[0]}).has_value());
  REQUIRE(other.ask<session::GetInfo>().has_value());
  CHECK(granted_now() == 150);
  REQUIRE(other.push(CancelTimer{.timer = timers[1]}).has_value());
  REQUIRE(other.ask<session::GetInfo>().has_value());
  CHECK(granted_now() == 50);
  // What cancels it is itself a timer: nobody is told of that.
  world.run([&](EntityRegistry& r) {
    BatchBuilder cancel, timed;
    cancel.append_world(CancelTimer{.timer = timers[2]});
    timed.append_timed(2'500'000, 0, cancel.front());
    return r.host().push_batch(timed.bytes());
  });
  world.run([](EntityRegistry& r) { return r.advance(2'499'999), 0; });
  REQUIRE(other.ask<session::GetInfo>().has_value());
  CHECK(granted_now() == 50);
  world.run([](EntityRegistry& r) { return r.advance(1), 0; });
  REQUIRE(other.ask<session::GetInfo>().has_value());
  CHECK(granted_now() == 0);
}

TEST_CASE("texts of sessions that ended are dropped where they are many, those of sessions that are there are not",
          "[abuse]") {
  LiveWorldOptions options;
  options.limits.world_texts_max = 1000;
  LiveWorld world(options);
  const auto count = [&] { return world.run([](EntityRegistry& r) { return r.host().texts().size(); }); };
  const auto knows = [&](std::string_view text) {
    return world.run([&](EntityRegistry& r) { return !r.text(text_of(text)).empty(); });
  };
  Client stays = world.client();
  REQUIRE(stays.intern("mine").has_value());
  world.run([](EntityRegistry& r) { return r.intern("the host's"); });
  for (int round = 0; round < 20; ++round) {
    Client client = world.client();
    for (int i = 0; i < 100; ++i)
      REQUIRE(client.intern("text " + std::to_string(round) + " " + std::to_string(i)).has_value());
    REQUIRE(client.create({}, "entity " + std::to_string(round)).has_value());
  }
  while (stays.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 500 && count() > 700; ++i) std::this_thread::sleep_for(10ms);
  CHECK(count() <= 700);
  CHECK(knows("mine"));
  CHECK(knows("the host's"));
  for (int round = 0; round < 20; ++round) CHECK(knows("entity " + std::to_string(round)));
  // All that nobody needs go where an admin asks for it.
  const auto answer = stays.ask(session::DropTexts{});
  REQUIRE(answer.has_value());
  CHECK(answer->left == count());
  CHECK(count() == 22);
  CHECK(knows("mine"));
  // Who was sent a text may mention it.
  Client reader = world.client();
  REQUIRE(reader.ask(session::GetText{.hash = text_of("mine").hash}).has_value());
  {
    const Client gone = std::move(stays);
  }
  Client admin = world.client();
  while (admin.ask<session::GetInfo>()->sessions > 2) std::this_thread::sleep_for(1ms);
  REQUIRE(admin.ask(session::DropTexts{}).has_value());
  CHECK(knows("mine"));
  {
    const Client gone = std::move(reader);
  }
  while (admin.ask<session::GetInfo>()->sessions > 1) std::this_thread::sleep_for(1ms);
  REQUIRE(admin.ask(session::DropTexts{}).has_value());
  CHECK_FALSE(knows("mine"));
  Client viewer = world.client(viewer_token);
  CHECK_FALSE(viewer.ask(session::DropTexts{}).has_value());
}

TEST_CASE("names and texts of a session have a stated length and number", "[abuse]") {
  LiveWorldOptions options;
  options.limits.texts_max = 5;
  LiveWorld world(options);
  Client client = world.client();
  const auto name = client.create({}, std::string(256, 'n'));
  REQUIRE_FALSE(name.has_value());
  CHECK(name.error().fault.reason == "name_bytes_max");
  const auto named = client.create({}, std::string(255, 'n'));
  REQUIRE(named.has_value());
  // As a text it may be longer, as a name not.
  const auto renamed = client.rename(*named, std::string(256, 'n'));
  REQUIRE_FALSE(renamed.has_value());
  CHECK(renamed.error().fault.reason == "name_bytes_max");
  // The world knows the text and has granted ids. Another refusal changes nothing.
  const std::uint64_t hash = world.hash();
  CHECK_FALSE(client.create({}, std::string(256, 'n')).has_value());
  CHECK_FALSE(client.rename(*named, std::string(256, 'n')).has_value());
  CHECK(world.hash() == hash);
  const auto text = client.intern(std::string((1u << 16) + 1, 't'));
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().fault.reason == "text_bytes_max");
  CHECK_FALSE(client.intern(std::string((1u << 16) + 1, 't')).has_value());  // what was refused is not known either
  for (int i = 0; i < 3; ++i) CHECK(client.intern("text " + std::to_string(i)).has_value());
  const auto more = client.intern("one too many");
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().fault.reason == "texts_max");
  CHECK(more.error().text.find("5 are allowed") != std::string::npos);
  Client other = world.client();
  CHECK(other.intern("text 1").has_value());  // known: it costs nothing
  CHECK(other.intern("of another session").has_value());
}

TEST_CASE("texts of a session have a stated number of bytes, met exactly", "[abuse]") {
  LiveWorldOptions options;
  options.limits.texts_bytes_max = 100;
  LiveWorld world(options);
  Client client = world.client();
  CHECK(client.intern(std::string(60, 'a')).has_value());
  const auto more = client.intern(std::string(41, 'b'));
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().fault.reason == "texts_max");
  CHECK(client.intern(std::string(40, 'b')).has_value());
  CHECK_FALSE(client.intern("c").has_value());
  Client other = world.client();
  CHECK(other.intern("c").has_value());
}

TEST_CASE("one value for many entities costs as often as it is written", "[abuse]") {
  LiveWorldOptions options;
  options.limits.edit_steps_max = 1000;
  LiveWorld world(options);
  const auto units = world.run([](EntityRegistry& r) { return r.create_many(400, arena::Health{}); });
  Client client = world.client();
  const auto set = [&](const auto&... values) {
    BatchBuilder builder;
    builder.append_rows_shared(std::span<const Entity>(units), Set{}, values...);
    return client.push_batch(builder.bytes());
  };
  CHECK(set(arena::Hidden{}).has_value());
  CHECK(refused(set(arena::Position{}, arena::Health{}, arena::Target{})).reason == "edit_steps_max");
}

TEST_CASE("the world holds a stated number of texts of sessions", "[abuse]") {
  LiveWorldOptions options;
  LiveWorld world(options);
  const std::size_t there = world.run([](EntityRegistry& r) { return r.host().texts().size(); });
  LiveWorldOptions small;
  small.limits.world_texts_max = static_cast<std::uint32_t>(there + 3);
  LiveWorld bounded(small);
  Client client = bounded.client();
  for (int i = 0; i < 3; ++i) CHECK(client.intern("text " + std::to_string(i)).has_value());
  const auto more = client.intern("one too many");
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().fault.reason == "world_texts_max");
}

TEST_CASE("a session has a stated number of timers waiting", "[abuse]") {
  LiveWorldOptions options;
  options.limits.timers_max = 3;
  LiveWorld world(options);
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{}); });
  Client client = world.client();
  const auto set = [&](std::uint64_t due_ns) {
    BatchBuilder inner, timed;
    inner.append(orc, arena::Damage{.amount = 1});
    timed.append_timed(due_ns, 0, inner.front());
    return client.push_batch(timed.bytes());
  };
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(set(1000 + i).has_value());
  const session::Fault fault = refused(set(5));
  CHECK(fault.reason == "timers_max");
  CHECK(fault.text == "this session has 3 timers waiting; 3 are allowed");
  world.run([](EntityRegistry& r) { return r.advance(1001), 0; });
  CHECK(set(3000).has_value());
  CHECK(set(3000).has_value());
  CHECK_FALSE(set(3000).has_value());
}

TEST_CASE("what a session sent before it closed is applied, however much it is", "[abuse]") {
  LiveWorldOptions options;
  options.limits.intake_steps = 50;
  LiveWorld world(options);
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 1000}); });
  {
    RawClient client(world.address());
    client.hello();
    for (std::uint64_t i = 0; i < 500; ++i) {
      BatchBuilder builder;
      builder.append(orc, arena::Damage{.amount = 1});
      client.send_frame(builder.bytes(), 0);
    }
    client.end();
    while (client.receive()) {
    }
  }
  for (int i = 0; i < 500 && world.client().ask<session::GetInfo>()->sessions > 1; ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(world.run([&](EntityRegistry& r) { return r.get<arena::Health>(orc).value; }) == 500);
}

TEST_CASE("who sends little waits for one edit of somebody else, not for all of them", "[abuse]") {
  LiveWorld world;
  const auto many = world.run([](EntityRegistry& r) { return r.create_many(40'000, arena::Health{.value = 1000}); });
  const Entity orc = world.run([](EntityRegistry& r) { return r.create("orc", arena::Health{.value = 1000}); });
  Client greedy = world.client(), honest = world.client();
  BatchBuilder large(16u << 20);
  large.append_shared(many, arena::Damage{.amount = 0});
  world.hold(true);
  std::vector<std::uint64_t> sent;
  for (int i = 0; i < 60; ++i) sent.push_back(greedy.post_batch(large.bytes()).value());
  BatchBuilder small;
  small.append(orc, arena::Damage{.amount = 1});
  std::this_thread::sleep_for(100ms);
  const auto request = honest.post_batch(small.bytes()).value();
  std::this_thread::sleep_for(50ms);
  world.hold(false);
  const auto ack = honest.wait_ack(request);
  REQUIRE(ack.has_value());
  std::uint64_t before = 0;
  for (const std::uint64_t each : sent) before += greedy.wait_ack(each)->sequence < ack->sequence ? 1 : 0;
  CHECK(before <= 2);
}

}  // namespace edits_test
