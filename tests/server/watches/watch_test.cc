#include <catch2/catch.hpp>
#include <map>

#include "schema/scene.h"
#include "tests/server/live_world.h"

namespace watch_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

/// What a client that only applies what its watch tells knows of the world.
struct Mirror {
  std::map<Entity, std::map<TypeId, std::vector<std::byte>>> values;
  std::map<Entity, Entity> parents;
  std::map<Entity, std::string> names;
  std::uint64_t sequence = 0, event_sequence = 0;
  std::vector<Received> events;
  std::uint64_t gaps = 0, lost = 0;

  void apply(const Client& client, const Received& received) {
    const BatchView batch = received.batch();
    if (received.is_event()) {
      if (received.is<session::Gap>()) {
        ++gaps;
        lost += session::read<session::Gap>(batch).lost;
        event_sequence = session::read<session::Gap>(batch).through;
      } else {
        REQUIRE(received.envelope.sequence > event_sequence);
        event_sequence = received.envelope.sequence;
        events.push_back(received);
      }
      return;
    }
    const auto each = [&](auto&& f) {
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        Entity target;
        std::memcpy(&target, batch.item(i), sizeof target);
        f(target, batch.payload(i));
      }
    };
    if (received.is<session::Watching>()) {
      sequence = session::read<session::Watching>(batch).sequence;
    } else if (received.is<session::Values>()) {
      const auto rows = session::read<session::Values>(batch);
      const auto bytes = std::as_bytes(std::span(rows.values));
      REQUIRE(bytes.size() == rows.entities.size() * rows.value_bytes);
      for (std::size_t i = 0; i < rows.entities.size(); ++i) {
        const auto value = bytes.subspan(i * rows.value_bytes, rows.value_bytes);
        values[rows.entities[i]][rows.component].assign(value.begin(), value.end());
      }
    } else if (received.is<Remove>()) {
      each([&](Entity e, const std::byte* payload) {
        Remove remove;
        std::memcpy(&remove, payload, sizeof remove);
        values[e].erase(remove.component);
      });
    } else if (received.is<Destroy>() || received.is<session::Left>()) {
      each([&](Entity e, const std::byte*) { values.erase(e), parents.erase(e), names.erase(e); });
    } else if (received.is<Create>()) {
      each([&](Entity e, const std::byte* payload) {
        Create create;
        std::memcpy(&create, payload, sizeof create);
        parents[e] = create.parent;
        names[e] = client.text(Text{create.name});
      });
    } else if (received.is<Reparent>()) {
      each([&](Entity e, const std::byte* payload) {
        Reparent reparent;
        std::memcpy(&reparent, payload, sizeof reparent);
        parents[e] = reparent.parent;
      });
    } else if (received.is<Rename>()) {
      each([&](Entity e, const std::byte* payload) {
        Rename rename;
        std::memcpy(&rename, payload, sizeof rename);
        names[e] = client.text(Text{rename.name});
      });
    } else {
      FAIL("an unexpected message of type " << batch.type());
    }
    if (received.header.flags & frame_envelope) {
      REQUIRE(received.envelope.sequence >= sequence);
      sequence = received.envelope.sequence;
    }
  }

  /// Until the watch has shown the world as it was at `through` or later, whole.
  void follow(Client& client, std::uint64_t watch, std::uint64_t through) {
    for (int i = 0; i < 100'000; ++i) {
      auto frame = client.next(watch, 5s);
      REQUIRE(frame.has_value());
      if (!*frame) FAIL("nothing came although sequence " << through << " was not reached, only " << sequence);
      apply(client, **frame);
      if ((*frame)->is_last() && sequence >= through) return;
    }
  }
  /// Until every event up to `through` has come, or was reported lost.
  void follow_events(Client& client, std::uint64_t watch, std::uint64_t through) {
    while (event_sequence < through) {
      auto frame = client.next(watch, 5s);
      REQUIRE(frame.has_value());
      if (!*frame) FAIL("no event came although " << through << " was not reached, only " << event_sequence);
      apply(client, **frame);
    }
  }
  void expect_nothing(Client& client, std::uint64_t watch) {
    auto frame = client.next(watch, 50ms);
    REQUIRE(frame.has_value());
    if (*frame) FAIL("a frame of type " << (*frame)->batch().type() << " came");
  }
  float health(Entity e) const {
    arena::Health health;
    std::memcpy(&health, values.at(e).at(TypeTraits<arena::Health>::id).data(), sizeof health);
    return health.value;
  }
};

session::Follow watch_values(std::vector<TypeId> components = {}) {
  session::Follow watch;
  watch.world = watch.values = true;
  watch.components = std::move(components);
  return watch;
}
constexpr TypeId health_id = TypeTraits<arena::Health>::id;
constexpr TypeId position_id = TypeTraits<arena::Position>::id;

}  // namespace

TEST_CASE("a watch begins with the state at a sequence and goes on with what changes after it", "[watch]") {
  LiveWorld world;
  const auto units = world.run([](EntityRegistry& r) {
    return std::pair(r.create("a", arena::Health{.value = 10}, arena::Position{1, 2, 3}),
                     r.create("b", arena::Health{.value = 20}));
  });
  Client client = world.client(), editor = world.client();
  const auto watch = client.follow(watch_values({health_id}));
  REQUIRE(watch.has_value());
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  REQUIRE(mirror.values.size() == 2);
  REQUIRE(mirror.health(units.first) == 10);
  REQUIRE(mirror.values[units.first].size() == 1);
  const std::uint64_t snapshot = mirror.sequence;

  const auto ack = editor.push(units.second, arena::Damage{.amount = 5});
  REQUIRE(ack->sequence > snapshot);
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE(mirror.health(units.second) == 15);
  // A change of a component that nobody watches is not told.
  REQUIRE(editor.set(units.first, arena::Position{9, 9, 9}).has_value());
  mirror.expect_nothing(client, *watch);
}

TEST_CASE("components that come and go, entities that come and go, are told", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto watch = client.follow(watch_values());
  Mirror mirror;
  const auto a = editor.create({}, "a", arena::Health{.value = 1});
  const auto b = editor.create({}, "b", arena::Position{1, 1, 1});
  auto ack = editor.set(*b, arena::Health{.value = 2}, arena::Hidden{});
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE(mirror.values[*a].contains(health_id));
  REQUIRE(mirror.values[*b].contains(health_id));
  REQUIRE(mirror.values[*b].contains(position_id));
  REQUIRE(mirror.values[*b].contains(TypeTraits<arena::Hidden>::id));

  Remove remove;
  remove.component = health_id;
  ack = editor.push(*b, remove);
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE_FALSE(mirror.values[*b].contains(health_id));
  REQUIRE(mirror.values[*b].contains(position_id));
  ack = editor.destroy(*a);
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE_FALSE(mirror.values.contains(*a));
  REQUIRE(mirror.values.contains(*b));
}

TEST_CASE("structure is told with names and parents, parents first", "[watch]") {
  LiveWorld world;
  const Entity town = world.run([](EntityRegistry& r) {
    const Entity made = r.create("town");
    r.create_under(r.create_under(made, "house"), "door").or_stop();
    return made;
  });
  Client client = world.client(), editor = world.client();
  const auto watch = client.follow({.world = true, .structure = true});
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  REQUIRE(mirror.parents.size() == 3);
  const Entity house = editor.ask(session::Resolve{.path = "/town/house"})->entities[0];
  const Entity door = editor.ask(session::Resolve{.path = "/town/house/door"})->entities[0];
  REQUIRE(mirror.parents[house] == town);
  REQUIRE(mirror.parents[door] == house);
  REQUIRE(mirror.names[door] == "door");

  const auto inn = editor.create(town, "inn");
  REQUIRE(editor.reparent(door, *inn).has_value());
  const auto renamed = editor.rename(door, "gate");
  mirror.follow(client, *watch, renamed->sequence);
  REQUIRE(mirror.parents[door] == *inn);
  REQUIRE(mirror.names[door] == "gate");
  const auto gone = editor.destroy(town);
  mirror.follow(client, *watch, gone->sequence);
  REQUIRE(mirror.parents.empty());
}

TEST_CASE("a watch of a subtree follows who comes under it and who leaves", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto red = editor.create({}, "red"), blue = editor.create({}, "blue");
  const auto unit = editor.create(*red, "unit", arena::Health{.value = 5});
  session::Follow asked = watch_values({health_id});
  asked.world = false;
  asked.entities = {*red};
  asked.subtree = true;
  const auto watch = client.follow(asked);
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  REQUIRE(mirror.values.size() == 1);
  const auto other = editor.create(*blue, "other", arena::Health{.value = 6});
  auto ack = editor.reparent(*other, *red);
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE(mirror.health(*other) == 6);
  ack = editor.reparent(*unit, *blue);
  mirror.follow(client, *watch, ack->sequence);
  REQUIRE_FALSE(mirror.values.contains(*unit));
  REQUIRE(editor.push(*unit, arena::Damage{.amount = 1}).has_value());
  mirror.expect_nothing(client, *watch);
}

TEST_CASE("events are the very bytes that were sent, with sequence and session", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto orc = editor.create({}, "orc", arena::Health{});
  const auto watch = client.follow({.world = true, .inputs = true, .input_types = {TypeTraits<arena::Damage>::id}});
  BatchBuilder builder;
  builder.append(*orc, arena::Damage{.amount = 3, .by = *orc});
  builder.append(*orc, arena::Damage{.amount = 4});
  const auto ack = editor.push_batch(builder.bytes());
  REQUIRE(editor.set(*orc, arena::Health{.value = 1}).has_value());
  Mirror mirror;
  mirror.follow_events(client, *watch, ack->sequence);
  REQUIRE(mirror.events.size() == 1);
  REQUIRE(std::ranges::equal(mirror.events[0].bytes, builder.bytes()));
  REQUIRE(mirror.events[0].envelope.sequence == ack->sequence);
  REQUIRE(mirror.events[0].envelope.session == editor.welcome().session);
  mirror.expect_nothing(client, *watch);
}

TEST_CASE("texts that a table mentions at any depth are sent before it", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto watch = client.follow({.world = true, .inputs = true, .input_types = {TypeTraits<arena::Announce>::id}});
  const std::vector<std::string> words{"channel", "mark",     "mark 0",   "mark 1", "first",
                                       "second",  "rumour 0", "rumour 1", "below",  "tag"};
  std::vector<Text> texts;
  for (const std::string& word : words) texts.push_back(editor.intern(word).value());
  const auto rumour = [](Text heard) {
    arena::Rumour made;
    made.heard = heard;
    return made;
  };
  arena::Announce announce{.channel = texts[0], .count = texts[0].hash, .mark = arena::Mark{.word = texts[1]}};
  announce.tags = {texts[9]};
  announce.marks = {{.word = texts[2]}, {.word = texts[3]}};
  announce.first.emplace(rumour(texts[4]));
  announce.first->next = std::make_unique<arena::Rumour>(rumour(texts[5]));
  for (const Text text : {texts[6], texts[7]}) announce.rumours.push_back(rumour(text));
  announce.rumours[1].next = std::make_unique<arena::Rumour>(rumour(texts[8]));
  const Text other = editor.intern("of the second message").value();
  BatchBuilder builder;
  for (const auto& table : {encode(announce), encode(arena::Announce{.channel = other})})
    builder.append_table(TypeTraits<arena::Announce>::id, Entity{}, table);
  const auto ack = editor.push_batch(builder.bytes());
  REQUIRE(ack.has_value());
  Mirror mirror;
  mirror.follow_events(client, *watch, ack->sequence);
  REQUIRE(mirror.events.size() == 1);
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(client.text(texts[i]) == words[i]);
  CHECK(client.text(other) == "of the second message");
}

TEST_CASE("two watches of one session do not take each other's changes", "[watch]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Health{.value = 9});
  const auto one = client.follow(watch_values({health_id})), two = client.follow(watch_values());
  Mirror first, second;
  const auto ack = client.push(*orc, arena::Damage{.amount = 1});
  first.follow(client, *one, ack->sequence);
  second.follow(client, *two, ack->sequence);
  REQUIRE(first.health(*orc) == 8);
  REQUIRE(second.health(*orc) == 8);
}

TEST_CASE("after Unwatched nothing more comes, and the id may be used again", "[watch]") {
  LiveWorld world;
  Client client = world.client();
  const auto orc = client.create({}, "orc", arena::Health{.value = 9});
  const auto watch = client.follow(watch_values());
  REQUIRE(client.ask<session::GetInfo>()->watches == 1);
  REQUIRE(client.unwatch(*watch).has_value());
  REQUIRE(client.ask<session::GetInfo>()->watches == 0);
  REQUIRE(client.push(*orc, arena::Damage{.amount = 1}).has_value());
  REQUIRE_FALSE(client.next(0, 50ms).value().has_value());
  const auto unknown = client.unwatch(12345);
  REQUIRE(unknown.error().fault.reason == "unknown_watch");
  CHECK(unknown.error().fault.field == "watch");
}

TEST_CASE("a watch ends with its session", "[watch]") {
  LiveWorld world;
  Client watcher = world.client();
  {
    Client client = world.client();
    REQUIRE(client.follow(watch_values()).has_value());
    REQUIRE(watcher.ask<session::GetInfo>()->watches == 1);
  }
  for (int i = 0; i < 200 && watcher.ask<session::GetInfo>()->watches > 0; ++i) std::this_thread::sleep_for(10ms);
  REQUIRE(watcher.ask<session::GetInfo>()->watches == 0);
  REQUIRE(watcher.ask<session::GetInfo>()->sessions == 1);
}

TEST_CASE("watches of unknown types or with a wrong rate are refused with the field named", "[watch]") {
  LiveWorld world;
  Client client = world.client();
  REQUIRE(client.follow(watch_values({123})).error().fault.field == "components");
  REQUIRE(client.follow(watch_values({TypeTraits<arena::Damage>::id})).error().text ==
          "arena.Damage is not a component");
  session::Follow wild = watch_values();
  wild.rate_max = -1;
  REQUIRE(client.follow(wild).error().fault.field == "rate_max");
  REQUIRE(client.ask<session::GetInfo>().has_value());
}

TEST_CASE("an entity that goes to another parent and back, and takes another name and its old one, is told each time",
          "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto red = editor.create({}, "red"), blue = editor.create({}, "blue");
  const auto unit = editor.create(*red, "unit");
  const auto watch = client.follow({.world = true, .structure = true});
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  for (const auto& [parent, name] : {std::pair(*blue, "other"), {*red, "unit"}, {*blue, "other"}}) {
    REQUIRE(editor.reparent(*unit, parent).has_value());
    const auto renamed = editor.rename(*unit, name);
    REQUIRE(renamed.has_value());
    mirror.follow(client, *watch, renamed->sequence);
    CHECK(mirror.parents[*unit] == parent);
    CHECK(mirror.names[*unit] == name);
  }
}

TEST_CASE("a watch names no sibling that it did not tell", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto town = editor.create({}, "town");
  const auto first = editor.create(*town, "first");
  REQUIRE(editor.create(*town, "second").has_value());
  const session::Follow asked{.entities = {*first}, .structure = true};
  const auto watch = client.follow(asked);
  REQUIRE(watch.has_value());
  std::vector<Entity> siblings;
  for (bool more = true; more;) {
    const auto frame = client.next(*watch, 5s);
    REQUIRE(frame.has_value());
    REQUIRE(frame->has_value());
    more = !(*frame)->is_last();
    if (!(*frame)->is<Create>()) continue;
    const BatchView batch = (*frame)->batch();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      Create create;
      std::memcpy(&create, batch.payload(i), sizeof create);
      siblings.push_back(create.before);
    }
  }
  CHECK(siblings == std::vector<Entity>(1));  // none
}

TEST_CASE("a watch of some entities says nothing of what they never had", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto here = editor.create({}, "here", arena::Health{}), there = editor.create({}, "there", arena::Position{});
  session::Follow asked = watch_values({health_id, TypeTraits<arena::Position>::id});
  asked.world = false;
  asked.entities = {*here, *there};
  const auto watch = client.follow(asked);
  REQUIRE(watch.has_value());
  int sets = 0, others = 0;
  for (bool more = true; more;) {
    const auto frame = client.next(*watch, 5s);
    REQUIRE(frame.has_value());
    REQUIRE(frame->has_value());
    more = !(*frame)->is_last();
    if (!(*frame)->is<session::Watching>()) ++((*frame)->is<session::Values>() ? sets : others);
  }
  CHECK(sets == 2);
  CHECK(others == 0);
}

TEST_CASE("an entity that is dead when a watch is to be of it too is told as destroyed", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto lives = editor.create({}, "lives"), gone = editor.create({}, "gone");
  REQUIRE(editor.destroy(*gone).has_value());
  session::Follow asked;
  asked.values = true;
  asked.components = {health_id};
  asked.entities = {*lives};
  const auto watch = client.follow(asked);
  REQUIRE(watch.has_value());
  session::FollowMore more;
  more.watch = *watch;
  more.add = {*gone};
  REQUIRE(client.follow_more(more).has_value());  // all that it brings is here
  std::vector<Entity> destroyed;
  for (auto frame = client.next(*watch, 0ms); frame && *frame; frame = client.next(*watch, 0ms))
    if ((*frame)->is<Destroy>()) destroyed.push_back((*frame)->batch().target(0));
  CHECK(destroyed == std::vector<Entity>{*gone});
}

TEST_CASE("a watch of all components follows one that the world learns later", "[watch]") {
  LiveWorld world;
  Client client = world.client();
  const auto watch = client.follow(watch_values());
  Mirror mirror;
  const auto paint = [&](float red, Entity e) {
    return world.run([=](EntityRegistry& r) {
      if (e) {
        r.set(e, scene::Color{.value = {.r = red}});
        return std::pair(e, r.sequence());
      }
      r.add_type<scene::Color>();
      const Entity made = r.create(scene::Color{.value = {.r = red}});
      return std::pair(made, r.sequence());
    });
  };
  auto [e, sequence] = paint(0.25f, {});
  mirror.follow(client, *watch, sequence);
  const auto shown = [&] {
    scene::Color color;
    std::memcpy(&color, mirror.values.at(e).at(TypeTraits<scene::Color>::id).data(), sizeof color);
    return color.value.r;
  };
  CHECK(shown() == 0.25f);
  for (const float red : {0.5f, 0.75f}) {
    mirror.follow(client, *watch, paint(red, e).second);
    CHECK(shown() == red);
  }
}

TEST_CASE("what was fetched of a watch counts no more: only what waits is bounded", "[watch]") {
  LiveWorld world;
  ClientOptions options = world.client_options();
  options.watch_bytes_max = 16 << 10;
  auto connected = Client::connect(options);
  REQUIRE(connected.has_value());
  Client& client = *connected;
  const auto units = world.run([](EntityRegistry& r) { return r.create_many(100, arena::Health{.value = 0}); });
  const auto watch = client.follow(watch_values({health_id}));
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t sequence = world.run([&](EntityRegistry& r) {
      r.push(std::span<const Entity>(units), arena::Damage{.amount = -1});
      return r.sequence();
    });
    mirror.follow(client, *watch, sequence);
  }
  CHECK(mirror.health(units[99]) == 30);
}

TEST_CASE("a rate holds changes back, and the newest value comes when it allows", "[watch]") {
  LiveWorld world;
  Client client = world.client(), editor = world.client();
  const auto orc = editor.create({}, "orc", arena::Health{.value = 1000});
  session::Follow asked = watch_values({health_id});
  asked.rate_max = 10;
  const auto watch = client.follow(asked);
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) last = editor.push(*orc, arena::Damage{.amount = 1})->sequence;
  int frames = 0;
  while (mirror.sequence < last) {
    auto frame = client.next(*watch, 5s);
    REQUIRE(frame->has_value());
    mirror.apply(client, **frame);
    ++frames;
  }
  REQUIRE(mirror.health(*orc) == 900);
  REQUIRE(frames < 20);
}

TEST_CASE("what a rate held back comes each time its time has come, though nothing else wakes the world", "[watch]") {
  LiveWorld world;
  Client client = world.client();
  const Entity orc = world.run([](EntityRegistry& r) { return r.create(arena::Health{.value = 100}); });
  session::Follow asked = watch_values({health_id});
  asked.rate_max = 20;
  const auto watch = client.follow(asked);
  Mirror mirror;
  mirror.follow(client, *watch, 0);
  for (int round = 1; round <= 3; ++round) {
    std::uint64_t last = 0;
    for (int i = 0; i < 2; ++i)
      last = world.run([=](EntityRegistry& r) {
        r.push(orc, arena::Damage{.amount = 1});
        return r.sequence();
      });
    mirror.follow(client, *watch, last);
    CHECK(mirror.health(orc) == 100.0f - 2.0f * static_cast<float>(round));
  }
}

TEST_CASE("a client that does not read costs a bounded queue, sees the newest values later, and is told of lost events",
          "[watch]") {
  LiveWorldOptions options;
  options.limits.outgoing.data_bytes_max = 64 << 10;
  LiveWorld world(options);
  const auto units = world.run([](EntityRegistry& r) { return r.create_many(2000, arena::Health{.value = 0}); });
  Client client = world.client();
  session::Follow asked = watch_values({health_id});
  asked.inputs = true;
  asked.input_types = {TypeTraits<arena::Damage>::id};
  const auto watch = client.follow(asked);
  REQUIRE(watch.has_value());
  // The kernel's buffers hold some megabytes; the world changes by far more than that.
  std::uint64_t last = 0;
  for (int round = 0; round < 400; ++round)
    last = world.run([&](EntityRegistry& r) {
      r.push(std::span<const Entity>(units), arena::Damage{.amount = -1});
      return r.sequence();
    });
  Mirror mirror;
  mirror.follow(client, *watch, last);
  mirror.follow_events(client, *watch, last);
  for (const Entity e : units) REQUIRE(mirror.health(e) == 400);
  REQUIRE(mirror.gaps > 0);
  REQUIRE(mirror.events.size() + mirror.lost == 400);
}

}  // namespace watch_test
