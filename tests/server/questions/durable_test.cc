// What a server says of the disk: acknowledgements that something is durable, and that the disk fails.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <thread>

#include "registry/entity_registry.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/live_world.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/folder.h"

namespace durable_test {

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

struct Serve {
  Durability durability = Durability::batched;
  std::chrono::nanoseconds autosave{0};
  double hz = 0;
};

/// A world on a disk that may fail, and its server, on a thread of their own.
class Served {
 public:
  explicit Served(Serve options) {
    usual_ = sqlite3_vfs_find(nullptr);
    sqlite3_vfs_register(sqlite3_vfs_find("faulty-server"), 1);
    std::promise<std::string> listening;
    owner_ = std::thread([this, options, &listening] { own(options, listening); });
    address_ = listening.get_future().get();
    sqlite3_vfs_register(usual_, 1);
  }
  ~Served() {
    disk.operations_left = -1;
    world_->stop();
    stop_returned_.set_value();
    owner_.join();
  }
  const std::string& token_of(session::Role role) const { return tokens_.at(role); }
  Client client(session::Role role = session::Role::admin) const {
    auto made = Client::connect({.address = address_, .token = token_of(role), .name = "test"});
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }
  const std::string& address() const noexcept { return address_; }
  std::vector<std::string> warnings() const {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }
  test::FaultyDisk disk{"faulty-server"};

 private:
  void own(const Serve& options, std::promise<std::string>& listening) {
    const test::Folder folder;
    World world(folder / "w.muster",
                [](EntityRegistry& registry) -> Handlers {
                  registry.add_type<arena::Health>();
                  return {subscribe_damage(registry)};
                },
                {.hz = options.hz, .durability = options.durability, .autosave = options.autosave});
    world.registry().create("orc", arena::Health{.value = 100}).or_stop();
    world.save();
    const std::string users = folder / "w.muster-users";
    tokens_ = tokens_by_role(users);
    Server server(
        world, {.listen = "127.0.0.1:0", .token = token, .users_file = users, .warn = [this](const std::string& line) {
                  const std::lock_guard lock(mutex_);
                  warnings_.push_back(line);
                }});
    world_ = &world;
    listening.set_value(server.address());
    while (const auto frame = world.next_frame()) world.registry().push(Update{.dt = frame.dt});
    stop_returned_.get_future().wait();  // a world outlives the calls of its stop()
  }

  sqlite3_vfs* usual_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
  World* world_ = nullptr;
  std::promise<void> stop_returned_;
  std::string address_;
  std::map<session::Role, std::string> tokens_;
  std::thread owner_;
};

Result<session::Ack> hit(Client& client) {
  return client.push(client.entity("orc").value(), arena::Damage{.amount = 1});
}
float health(Client& client) { return client.show(client.entity("orc").value())->get<arena::Health>()->value; }
/// Edits until one is refused, because the disk is seen to fail.
session::Fault refused(Client& client) {
  for (int i = 0; i < 2000; ++i) {
    const auto ack = hit(client);
    if (!ack) return ack.error().fault;
    std::this_thread::sleep_for(2ms);
  }
  FAIL("edits are taken though the disk fails");
  return {};
}

}  // namespace

TEST_CASE("who waits for it is told when an edit is on the disk, whatever the server writes by itself") {
  const auto [durability, autosave] =
      GENERATE(std::pair(Durability::each_flush, 0ms), std::pair(Durability::batched, 0ms),
               std::pair(Durability::checkpoint, 20ms));
  const Served world({.durability = durability, .autosave = autosave});
  Client client = world.client(session::Role::edit);
  for (int i = 0; i < 5; ++i) {
    const auto ack = hit(client);
    REQUIRE(ack.has_value());
    const auto durable = client.wait_durable(ack->sequence);
    REQUIRE(durable.has_value());
    CHECK(durable->sequence >= ack->sequence);
    CHECK(durable->saved_sequence <= durable->sequence);
    CHECK(durable->error.empty());
    const auto info = client.ask<session::GetInfo>();
    REQUIRE(info.has_value());
    CHECK(info->durable_sequence >= ack->sequence);
    CHECK(info->durability == durable->durability);
    CHECK(info->autosave_ns == durable->autosave_ns);
  }
}

TEST_CASE("a viewer may follow what is durable, and is told under request 0") {
  const Served world({.durability = Durability::each_flush});
  RawClient viewer(world.address());
  viewer.hello(world.token_of(session::Role::view));
  viewer.send_message(session::FollowDurable{}, 7);
  const auto first = viewer.receive();
  REQUIRE(first.has_value());
  REQUIRE(first->is<session::Durable>());
  CHECK(first->header.request == 7);
  Client client = world.client();
  const auto ack = hit(client);
  REQUIRE(ack.has_value());
  std::uint64_t told = session::read<session::Durable>(first->batch()).sequence;
  while (told < ack->sequence) {
    const auto next = viewer.receive();
    REQUIRE(next.has_value());
    REQUIRE(next->is<session::Durable>());
    CHECK(next->header.request == 0);
    const std::uint64_t now = session::read<session::Durable>(next->batch()).sequence;
    CHECK(now >= told);
    told = now;
  }
}

TEST_CASE("nobody waits for what this server never writes by itself; a save makes it durable") {
  const Served world({.durability = Durability::checkpoint});
  Client client = world.client();
  const auto ack = hit(client);
  REQUIRE(ack.has_value());
  const auto durable = client.wait_durable(ack->sequence);
  REQUIRE_FALSE(durable.has_value());
  CHECK(durable.error().kind == ClientError::Kind::refused);
  CHECK(durable.error().text == "not durable until the world is saved: this server writes nothing by itself");
  REQUIRE(client.ask<session::Save>().has_value());
  CHECK(client.wait_durable(ack->sequence).has_value());
}

TEST_CASE(
    "where the disk fails all sessions are told, edits are refused and questions answered, until a save succeeds") {
  const auto [durability, autosave] =
      GENERATE(std::pair(Durability::each_flush, 0ms), std::pair(Durability::batched, 0ms),
               std::pair(Durability::checkpoint, 20ms));
  Served world({.durability = durability, .autosave = autosave});
  Client client = world.client();
  RawClient other(world.address());
  other.hello();
  const float before = health(client);

  world.disk.operations_left = 0;
  const session::Fault fault = refused(client);
  CHECK(fault.code == session::FaultCode::not_recorded);
  CHECK(fault.reason == "not_recorded");
  CHECK_FALSE(fault.closes);
  CHECK_THAT(fault.text,
             Catch::Contains("edits are refused, because they could not be kept") && Catch::Contains("w.muster: "));
  const auto told = other.receive();
  REQUIRE(told.has_value());
  REQUIRE(told->is<session::Fault>());
  CHECK(told->header.request == 0);
  CHECK(session::read<session::Fault>(told->batch()).code == session::FaultCode::not_recorded);
  RawClient late(world.address());
  late.hello();
  const auto told_late = late.receive();
  REQUIRE(told_late.has_value());
  CHECK(session::read<session::Fault>(told_late->batch()).code == session::FaultCode::not_recorded);

  const auto info = client.ask<session::GetInfo>();
  REQUIRE(info.has_value());
  CHECK_FALSE(info->error.empty());
  CHECK(info->durable_sequence < info->sequence);
  CHECK(client.wait_durable(info->sequence).error().kind == ClientError::Kind::refused);
  CHECK(client.ask<session::FollowDurable>()->error == info->error);
  CHECK(client.read_templates(R"({ templates: [ { name: "man", components: {} } ] })", "none").error().fault.reason ==
        "not_recorded");
  CHECK(client.ask(session::AddSchema{.bytes = {1, 2, 3}}).error().fault.reason == "not_recorded");
  const float refused_at = health(client);
  CHECK(refused_at <= before);
  CHECK_FALSE(client.ask<session::Save>().has_value());
  CHECK_FALSE(hit(client).has_value());

  world.disk.operations_left = -1;
  if (autosave == 0ms) REQUIRE(client.ask<session::Save>().has_value());
  Result<session::Ack> ack = hit(client);
  for (int i = 0; i < 2000 && !ack; ++i) {
    std::this_thread::sleep_for(5ms);
    ack = hit(client);
  }
  REQUIRE(ack.has_value());
  CHECK(client.wait_durable(ack->sequence).has_value());
  CHECK(client.ask<session::GetInfo>()->error.empty());
  CHECK(health(client) == refused_at - 1);
  const auto warnings = world.warnings();
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Catch::StartsWith("nothing is recorded, and edits are refused: "));
  CHECK_THAT(warnings[1], Catch::StartsWith("the world was saved"));
}

}  // namespace durable_test
