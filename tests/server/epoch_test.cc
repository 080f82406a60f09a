// Each start of a world is an epoch: what its server acknowledges is of it, and so is what it writes to the journal.
#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <thread>

#include "registry/entity_registry.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

namespace epoch_test {

using namespace muster;
using namespace muster::testing;

namespace {

/// A world with its server, on a thread of their own, until it goes.
class Running {
 public:
  explicit Running(const std::string& path) {
    std::promise<void> listening;
    owner_ = std::thread([this, path, &listening] { own(path, listening); });
    listening.get_future().wait();
  }
  ~Running() {
    world_->stop();
    stop_returned_.set_value();
    owner_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Client client(SoFar before = {}) const {
    auto made = Client::connect({.address = address_, .token = token, .name = "test", .before = before});
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }
  std::uint64_t epoch() const noexcept { return epoch_; }

 private:
  void own(const std::string& path, std::promise<void>& listening) {
    World world(path,
                [](EntityRegistry& registry) -> Handlers {
                  registry.add_type<arena::Health>();
                  return {subscribe_damage(registry)};
                },
                {.durability = Durability::each_flush, .autosave = {}});
    if (world.is_new()) {
      world.registry().create("orc", arena::Health{.value = 100}).or_stop();
      world.save();
    }
    Server server(world, {.listen = "127.0.0.1:0", .token = token});
    world_ = &world;
    address_ = server.address();
    epoch_ = world.epoch();
    listening.set_value();
    while (const auto frame = world.next_frame()) world.registry().push(Update{.dt = frame.dt});
    stop_returned_.get_future().wait();  // a world outlives the calls of its stop()
  }

  World* world_ = nullptr;
  std::promise<void> stop_returned_;
  std::string address_;
  std::uint64_t epoch_ = 0;
  std::thread owner_;
};

Acknowledged hit(Client& client) {
  return client.push(client.entity("orc").value(), arena::Damage{.amount = 1}).value();
}

}  // namespace

TEST_CASE("acknowledgements of one start are of one epoch, whoever gets them, and of another after a restart") {
  const test::Folder folder;
  const std::string path = folder / "w.muster";
  Acknowledged first, last;
  SoFar so_far;
  {
    const Running world(path);
    REQUIRE(world.epoch() != 0);
    Client one = world.client(), other = world.client();
    first = hit(one);
    last = hit(other);
    so_far = other.so_far();
    CHECK((first.epoch == world.epoch() && last.epoch == world.epoch()));
    CHECK(last.sequence > first.sequence);
    CHECK(one.wait_durable(last).has_value());  // of the same start: also one that somebody else was told

    // Who comes back meanwhile finds the same start.
    Client again = world.client(so_far);
    CHECK_FALSE(again.is_started_anew());
    CHECK(hit(again).epoch == first.epoch);
    const auto watch = again.follow({.world = true, .values = true});
    REQUIRE(watch);
    const auto frame = again.next(*watch, std::chrono::seconds(5));
    REQUIRE((frame && *frame));
    CHECK((*frame)->epoch == first.epoch);
    so_far = again.so_far();
    CHECK(so_far.sequence > last.sequence);
  }
  const Running world(path);
  CHECK(world.epoch() != first.epoch);
  Client client = world.client(so_far);
  CHECK(client.is_started_anew());
  const Acknowledged ack = hit(client);
  CHECK(ack.epoch == world.epoch());
  CHECK(ack.epoch != first.epoch);
  CHECK(client.wait_durable(ack).has_value());
  CHECK(client.wait_durable(last).error().kind == ClientError::Kind::mistaken);
}

}  // namespace epoch_test
