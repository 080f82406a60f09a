// A user may have several sessions: requests, grants and answers are each session's own, what was done is the user's.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "registry/host.h"
#include "tests/server/desk/hand_desk.h"

using namespace muster;
using namespace muster::testing;

namespace {

/// What a journal or a history would be told.
struct Told final : InputSink {
  explicit Told(EntityRegistry& r) : registry(r) { registry.host().add_sink(*this); }
  ~Told() override { registry.host().remove_sink(*this); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (!batch.empty()) inputs.push_back({envelope, BatchView(batch).type()});
  }
  /// The inputs of this type since the last call.
  template <GeneratedType M>
  std::vector<Envelope> of() {
    std::vector<Envelope> all;
    for (const auto& [envelope, type] : inputs)
      if (type == TypeTraits<M>::id) all.push_back(envelope);
    inputs.clear();
    return all;
  }
  EntityRegistry& registry;
  std::vector<std::pair<Envelope, TypeId>> inputs;
};

std::shared_ptr<Session> of_user(HandDesk& world, std::uint64_t user, const std::string& name = "ann") {
  return world.join(name, session::Role::edit, {}, user);
}
void create(HandDesk& world, Session& by, std::uint64_t request, std::uint32_t index) {
  world.edit(by, request, [&](BatchBuilder& out) { out.append_rows({index, 1}, Create{}, arena::Health{}); });
}

}  // namespace

TEST_CASE("two sessions of one user have requests and grants of their own, and one history") {
  HandDesk world;
  Told told(world.registry);
  const auto page = of_user(world, 3), cli = of_user(world, 3), other = of_user(world, 4, "bob");
  CHECK((page->number != cli->number && page->user == 3 && cli->user == 3 && other->user == 4));

  const auto pages = world.answer_to<session::Granted>(*page, session::RequestGrant{.count = 4}, 7);
  const auto clis = world.answer_to<session::Granted>(*cli, session::RequestGrant{.count = 4}, 7);
  CHECK(pages.first != clis.first);
  // What the desk does for them is the desk's own.
  for (const Envelope& grant : told.of<Grant>()) CHECK((grant.user == 0 && grant.session == 0));

  // Under one number of a request, each with an id of its own, and one with the other's.
  create(world, *page, 8, pages.first);
  create(world, *cli, 8, clis.first);
  create(world, *cli, 9, pages.first + 1);
  create(world, *other, 8, clis.first + 1);
  world.settle();
  const std::vector<Envelope> creates = told.of<Create>();
  std::vector<std::array<std::uint64_t, 3>> senders;
  for (const Envelope& each : creates) senders.push_back({each.user, each.session, each.request});
  CHECK(std::ranges::count(senders, std::array<std::uint64_t, 3>{3, page->number, 8}) == 1);
  CHECK(std::ranges::count(senders, std::array<std::uint64_t, 3>{3, cli->number, 8}) == 1);
  for (const Envelope& each : creates) CHECK(each.user == (each.session == other->number ? 4 : 3));

  const auto answers = [&](Session& to) {
    std::vector<std::string> all;
    for (const Received& frame : world.heard(to))
      all.push_back(std::to_string(frame.header.request) + " " +
                    (frame.is<session::Ack>() ? "ack" : session::read<session::Fault>(frame.batch()).reason));
    return all;
  };
  CHECK(answers(*page) == std::vector<std::string>{"8 ack"});
  CHECK(answers(*cli) == std::vector<std::string>{"8 ack", "9 id_not_granted"});
  CHECK(answers(*other) == std::vector<std::string>{"8 id_not_granted"});

  // The page goes, with what it was granted; the user is still there, and somebody else gets the ids.
  world.desk->leave(*page->connection());
  world.settle();
  create(world, *cli, 10, pages.first + 1);
  create(world, *cli, 11, clis.first + 1);
  world.settle();
  CHECK(answers(*cli) == std::vector<std::string>{"10 id_not_granted", "11 ack"});
}

TEST_CASE("every edit of a session has its user, timed ones and those that are refused too; the host's have none") {
  HandDesk world;
  const Entity unit = world.registry.create("unit", arena::Health{});
  Told told(world.registry);
  const auto ann = of_user(world, 3), owner = world.join();
  const auto all = [&] {
    std::vector<std::uint64_t> users;
    for (const auto& [envelope, type] : told.inputs)
      if (envelope.session != 0) users.push_back(envelope.user);
    told.inputs.clear();
    return users;
  };
  world.edit(*ann, 1, [&](BatchBuilder& out) { out.append(unit, Rename{}); });
  world.edit(*ann, 0, [&](BatchBuilder& out) { out.append_rows(unit, Set{}, arena::Health{.value = 2}); });
  world.edit(*ann, 2, [&](BatchBuilder& out) { out.append(Entity{99, 1}, Rename{}); });  // dead
  world.edit(*ann, 3, [&](BatchBuilder& out) { out.append(unit, Reparent{.parent = unit}); });
  world.edit(*ann, 4, [&](BatchBuilder& out) {
    BatchBuilder inner;
    inner.append(unit, arena::Damage{.amount = 1});
    out.append_timed(50, 0, inner.front());
  });
  world.settle();
  CHECK(all() == std::vector<std::uint64_t>{3, 3, 3, 3, 3});
  world.registry.advance(100);  // the timer's message is no input
  world.edit(*owner, 1, [&](BatchBuilder& out) { out.append(unit, Rename{}); });
  world.settle();
  CHECK(all() == std::vector<std::uint64_t>{0});
  world.registry.push(unit, Rename{});
  for (const auto& [envelope, type] : told.inputs) CHECK(envelope.user == 0);
}

TEST_CASE(
    "templates that a session's file defines are the server's inputs, for that user; those of the server are "
    "nobody's") {
  HandDesk world;
  world.registry.add_type<DefineTemplate>();
  Told told(world.registry);
  const auto ann = of_user(world, 3), owner = world.join();
  session::ReadTemplates templates;
  templates.text = R"({templates: [{name: "tower", components: {"arena.Health": {}}}]})";
  templates.file = "towers.json";
  (void)world.answer_to<session::Templates>(*ann, templates);
  auto defined = told.of<DefineTemplate>();
  REQUIRE(defined.size() == 1);
  CHECK((defined[0].user == 3 && defined[0].session == 0));
  (void)world.answer_to<session::Templates>(*owner, templates);
  defined = told.of<DefineTemplate>();
  REQUIRE(defined.size() == 1);
  CHECK((defined[0].user == 0 && defined[0].session == 0));
}

TEST_CASE("a desk has the epoch of its host, and draws one where that has none") {
  HandDesk first, second;
  CHECK(first.desk->epoch() != 0);
  CHECK(first.desk->epoch() != second.desk->epoch());
  HandDesk of_host({}, [](HandWorld& host) { host.its_epoch = 17; }),
      again({}, [](HandWorld& host) { host.its_epoch = 17; });
  CHECK(of_host.desk->epoch() == 17);
  // Another desk of one epoch gives its sessions other numbers, so that a journal's sessions stay apart.
  CHECK(of_host.join()->number != again.join()->number);
}
