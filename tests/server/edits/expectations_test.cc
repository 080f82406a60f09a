// Edits that expect something of the world are applied if it is so. Otherwise, they are refused as
// a whole, with the actual value.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "registry/host.h"
#include "server/access/sight.h"
#include "server/edits/expectations.h"
#include "server/session/judge.h"
#include "server/session/seen_now.h"
#include "tests/server/desk/hand_desk.h"

namespace expectations_test {

using namespace muster;
using namespace muster::testing;
using session::Expect, session::Expectation;

namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const T& value) {
  const auto* const at = reinterpret_cast<const std::uint8_t*>(&value);
  return {at, at + sizeof value};
}
template <class T>
T value_in(const session::Fault& fault) {
  T value;
  REQUIRE(fault.value.size() == sizeof value);
  std::memcpy(&value, fault.value.data(), sizeof value);
  return value;
}

std::vector<std::uint8_t> batch_of(const std::function<void(BatchBuilder&)>& write) {
  BatchBuilder builder;
  write(builder);
  const auto bytes = builder.bytes();
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {first, first + bytes.size()};
}

struct Town {
  HandDesk world;
  std::shared_ptr<Session> session = world.join();
  Entity town = world.registry.create("town", arena::Health{.value = 40});
  Entity orc = world.registry.create_under(town, "orc", arena::Health{.value = 30}).or_stop();
  Entity hat = world.registry.create_under(orc, "").or_stop();
  TypeId health = TypeTraits<arena::Health>::id;

  /// Sends the edit, and first asks what it would do. Returns the reason of the Fault, or "ack".
  session::Fault fault;
  std::string sent(const std::vector<Expectation>& expected, const std::function<void(BatchBuilder&)>& write) {
    const std::uint64_t hash = world.registry.hash();
    session::DryRun dry{.expected = expected, .batch = batch_of(write)};
    const auto would = world.answers(*session, dry, 8);
    REQUIRE(would.size() == 1);
    CHECK(world.registry.hash() == hash);
    world.edit(*session, 9, [&](BatchBuilder& to) {
      session::append(to, session::EditIf{.expected = expected, .batch = batch_of(write)});
    });
    world.settle();
    const auto heard = world.heard(*session);
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].header.request == 9);
    if (heard[0].is<session::Ack>()) {
      REQUIRE(would[0].is<session::WouldChange>());
      const auto said = session::read<session::WouldChange>(would[0].batch());
      const auto ack = session::read<session::Ack>(heard[0].batch());
      CHECK(said.handled == ack.handled);
      CHECK(said.sequence + 1 == ack.sequence);
      return "ack";
    }
    fault = session::read<session::Fault>(heard[0].batch());
    REQUIRE(would[0].is<session::Fault>());
    auto said = session::read<session::Fault>(would[0].batch());
    said.sequence = fault.sequence;
    CHECK(said == fault);
    CHECK(world.registry.hash() == hash);
    return fault.reason;
  }
  std::string sent(const Expectation& expected, const std::function<void(BatchBuilder&)>& write) {
    return sent(std::vector{expected}, write);
  }
};

}  // namespace

TEST_CASE("an edit is applied if the world is as expected, and else refused with the real value", "[expectations]") {
  Town t;
  const auto remove = [&](BatchBuilder& to) { to.append(t.orc, Remove{.component = t.health}); };
  const auto destroy = [&](BatchBuilder& to) { to.append(t.town, Destroy{}); };
  const auto move = [&](BatchBuilder& to) { to.append(t.hat, Reparent{.parent = t.town}); };
  const auto rename = [&](BatchBuilder& to) { to.append(t.orc, Rename{.name = text_of("town")}); };

  SECTION("a field") {
    Expectation expected{.entity = t.orc, .component = t.health, .field = hash32("value"), .value = bytes_of(31.f)};
    CHECK(t.sent(expected, remove) == "value_mismatch");
    CHECK(value_in<float>(t.fault) == 30);
    CHECK(t.fault.field == "value");
    CHECK(t.fault.entity == t.orc);
    CHECK(t.fault.refused == 1);
    expected.value = bytes_of(30.f);
    CHECK(t.sent(expected, remove) == "ack");
    CHECK(t.sent(expected, remove) == "missing_component");
  }
  SECTION("a whole component") {
    Expectation expected{.entity = t.orc, .component = t.health, .value = bytes_of(arena::Health{.value = 31})};
    CHECK(t.sent(expected, remove) == "value_mismatch");
    CHECK(value_in<arena::Health>(t.fault).value == 30);
    expected.value.pop_back();
    CHECK(t.sent(expected, remove) == "wrong_size");
    expected.value = bytes_of(arena::Health{.value = 30});
    CHECK(t.sent(expected, remove) == "ack");
  }
  SECTION("a component that is there, or not") {
    const auto add = [&](BatchBuilder& to) { to.append_rows(t.hat, Set{}, arena::Health{.value = 1}); };
    CHECK(t.sent({.what = Expect::present, .entity = t.hat, .component = t.health}, add) == "missing_component");
    CHECK(t.sent({.what = Expect::absent, .entity = t.hat, .component = t.health}, add) == "ack");
    CHECK(t.sent({.what = Expect::absent, .entity = t.hat, .component = t.health}, add) == "component_there");
    CHECK(value_in<arena::Health>(t.fault).value == 1);
    CHECK(t.sent({.what = Expect::present, .entity = t.hat, .component = t.health}, add) == "ack");
  }
  SECTION("a parent") {
    CHECK(t.sent({.what = Expect::parent, .entity = t.hat}, move) == "parent_mismatch");
    CHECK(value_in<Entity>(t.fault) == t.orc);
    CHECK(t.fault.text.find("is below #" + std::to_string(t.orc.index) + ":1 (/town/orc), not a root") !=
          std::string::npos);
    CHECK(t.sent({.what = Expect::parent, .entity = t.hat, .parent = t.orc}, move) == "ack");
    CHECK(t.world.registry.parent(t.hat) == t.town);
  }
  SECTION("a name") {
    CHECK(t.sent({.what = Expect::name, .entity = t.orc, .name = "ogre"}, rename) == "name_mismatch");
    CHECK(std::string(t.fault.value.begin(), t.fault.value.end()) == "orc");
    CHECK(t.sent({.what = Expect::name, .entity = t.hat}, rename) == "ack");
    CHECK(t.world.registry.name(t.orc) == "town");
  }
  SECTION("the number of entities below") {
    CHECK(t.sent({.what = Expect::descendants, .entity = t.town, .count = 1}, destroy) == "descendants_mismatch");
    CHECK(value_in<std::uint32_t>(t.fault) == 2);
    CHECK(t.sent({.what = Expect::descendants, .entity = t.town, .count = 2}, destroy) == "ack");
    CHECK(t.world.registry.entity_count() == 0);
    CHECK(t.sent({.what = Expect::descendants, .entity = t.town, .count = 2}, destroy) == "dead_entity");
  }
}

TEST_CASE("all expectations of an edit must be met, and an unmet one refuses the whole batch", "[expectations]") {
  Town t;
  const auto both = [&](BatchBuilder& to) {
    for (const Entity e : {t.town, t.orc}) to.append(e, Remove{.component = t.health});
  };
  const Expectation met{.what = Expect::present, .entity = t.town, .component = t.health};
  const Expectation unmet{.what = Expect::name, .entity = t.orc, .name = "elf"};
  CHECK(t.sent({met, unmet}, both) == "name_mismatch");
  CHECK(t.fault.refused == 2);
  CHECK(t.world.registry.has<arena::Health>(t.town));
  CHECK(t.sent({met, met}, both) == "ack");
}

TEST_CASE("the world receives the edit without its expectations", "[expectations]") {
  Town t;
  struct Inputs final : InputSink {
    std::vector<std::vector<std::byte>> seen;
    void on_input(const Envelope& envelope, std::span<const std::byte> bytes) override {
      if (envelope.session != 0) seen.emplace_back(bytes.begin(), bytes.end());
    }
  } inputs;
  t.world.registry.host().add_sink(inputs);
  const auto move = [&](BatchBuilder& to) { to.append(t.hat, Reparent{.parent = t.town}); };
  CHECK(t.sent({.what = Expect::parent, .entity = t.hat, .parent = t.orc}, move) == "ack");
  CHECK(t.sent({.what = Expect::parent, .entity = t.hat, .parent = t.orc}, move) == "parent_mismatch");
  const auto plain = batch_of(move);
  REQUIRE(inputs.seen.size() == 1);
  CHECK(std::ranges::equal(inputs.seen[0], std::as_bytes(std::span(plain))));
  t.world.registry.host().remove_sink(inputs);
}

TEST_CASE("a dry run is refused as the edit would be: rights, ids, and messages that call handlers", "[expectations]") {
  Town t;
  const TypeTable& types = *t.world.desk->types();
  const auto judged = [&](const auto& message, session::Role role) {
    BatchBuilder builder;
    session::append(builder, message);
    auto result = judge(builder.bytes(), types, Rights{role}, {.values = true});
    return result ? std::string("yes") : result.error().reason;
  };
  const auto destroy = batch_of([&](BatchBuilder& to) { to.append(t.orc, Destroy{}); });
  const auto gravity = batch_of([&](BatchBuilder& to) { to.append_rows(t.orc, Set{}, arena::Gravity{}); });
  const auto damage = batch_of([&](BatchBuilder& to) { to.append(t.orc, arena::Damage{}); });
  const auto asked = batch_of([&](BatchBuilder& to) { session::append(to, session::GetClock{}); });
  CHECK(judged(session::EditIf{.batch = destroy}, session::Role::edit) == "yes");
  CHECK(judged(session::EditIf{.batch = destroy}, session::Role::view) == "no_right");
  CHECK(judged(session::DryRun{.batch = destroy}, session::Role::view) == "no_right");
  CHECK(judged(session::EditIf{.batch = gravity}, session::Role::edit) == "no_right");
  CHECK(judged(session::DryRun{.batch = gravity}, session::Role::edit) == "no_right");
  CHECK(judged(session::DryRun{.batch = gravity}, session::Role::control) == "yes");
  CHECK(judged(session::EditIf{.batch = damage}, session::Role::edit) == "yes");
  CHECK(judged(session::DryRun{.batch = damage}, session::Role::edit) == "not_an_edit");
  CHECK(judged(session::EditIf{.batch = asked}, session::Role::edit) == "not_an_edit");
  const auto cut = std::vector<std::uint8_t>(destroy.begin(), destroy.begin() + 16);
  CHECK(judged(session::EditIf{.batch = cut}, session::Role::edit) == "truncated");

  const Entity foreign = t.world.registry.host().grant(1, 99);
  CHECK(t.sent(std::vector<Expectation>{}, [&](BatchBuilder& to) { to.append(foreign, Create{}); }) ==
        "id_not_granted");
}

TEST_CASE("for a user with limited sight, hidden entities are dead, and hidden types are unknown", "[expectations]") {
  Town t;
  const Entity cave = t.world.registry.create_under(t.town, "cave", arena::Health{.value = 7}).or_stop();
  (void)t.world.registry.create_under(cave, "bat").or_stop();
  const auto hide = [](const char* what) { return RuleEntry{.what = what, .allows = false, .place = "c:1:1: "}; };
  SeenNow seen(t.world.registry,
               std::make_shared<const Sight>(std::vector{hide("arena.Health")}, std::vector{hide("/town/cave")}));
  const ServerLimits limits;
  Steps steps(1000);
  const auto unmet = [&](const Expectation& expected) {
    return unmet_expectation(t.world.registry, limits, {expected}, &seen, steps);
  };

  const auto dead = unmet({.what = Expect::present, .entity = cave, .component = t.health});
  REQUIRE(dead);
  CHECK(dead->reason == "dead_entity");
  CHECK(dead->entity == cave);
  const auto type = unmet({.what = Expect::absent, .entity = t.town, .component = t.health});
  REQUIRE(type);
  CHECK(type->reason == "unknown_component");
  CHECK(type->value.empty());
  const auto parent = unmet({.what = Expect::parent, .entity = t.orc, .parent = cave});
  REQUIRE(parent);
  CHECK(parent->reason == "parent_mismatch");
  for (const auto& fault : {dead, type, parent}) {
    CHECK(fault->text.find("cave") == std::string::npos);
    CHECK(fault->text.find("Health") == std::string::npos);
  }
  CHECK_FALSE(unmet({.what = Expect::descendants, .entity = t.town, .count = 2}));
  const auto count = unmet({.what = Expect::descendants, .entity = t.town, .count = 4});
  REQUIRE(count);
  CHECK(value_in<std::uint32_t>(*count) == 2);
}

}  // namespace expectations_test
