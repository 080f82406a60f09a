#include "registry/delivery/inbox.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

bool put(InboxLane& lane, Entity target, float amount, std::uint64_t request = 0) {
  BatchBuilder builder;
  builder.append(target, game::Damage{.amount = amount});
  return lane.put(builder.bytes(), request);
}

struct Recorder : InputSink {
  std::vector<Envelope> inputs;
  std::vector<Receipt> receipts;
  void on_input(const Envelope& envelope, std::span<const std::byte>) override { inputs.push_back(envelope); }
  void on_receipt(const Envelope&, const Receipt& receipt) noexcept override { receipts.push_back(receipt); }
};

}  // namespace

TEST_CASE("what a lane was given arrives at flush, after what was posted, with session and request") {
  EntityRegistry registry;
  std::vector<float> seen;
  const auto s =
      registry.subscribe("log", [&](const game::Damage& hit, const game::Health&) { seen.push_back(hit.amount); });
  const Entity orc = registry.create("orc", game::Health{});
  const auto first = registry.host().inbox().open_lane(7), second = registry.host().inbox().open_lane(8);
  Recorder recorder;
  registry.host().add_sink(recorder);
  REQUIRE(put(*second, orc, 3, 100));
  REQUIRE(put(*first, orc, 1, 200));
  REQUIRE(put(*first, orc, 2, 201));
  registry.post(orc, game::Damage{.amount = 0});
  CHECK(seen.empty());
  CHECK_FALSE(registry.host().inbox().empty());
  const Receipt receipt = registry.flush();
  CHECK(receipt.handled == 4);
  CHECK(seen == std::vector<float>{0, 1, 2, 3});
  CHECK(registry.host().inbox().empty());

  REQUIRE(recorder.inputs.size() == 5);
  CHECK(recorder.inputs[0].kind == InputKind::post);
  CHECK(recorder.inputs[1].kind == InputKind::inbox);
  CHECK(recorder.inputs[1].session == 7);
  CHECK(recorder.inputs[1].request == 200);
  CHECK(recorder.inputs[2].request == 201);
  CHECK(recorder.inputs[3].session == 8);
  CHECK(recorder.inputs[3].request == 100);
  CHECK(recorder.inputs[4].kind == InputKind::flush);
  for (std::size_t i = 1; i < recorder.inputs.size(); ++i)
    CHECK(recorder.inputs[i].sequence == recorder.inputs[i - 1].sequence + 1);
  registry.host().remove_sink(recorder);
}

TEST_CASE("push and advance leave the inbox alone") {
  EntityRegistry registry;
  int seen = 0;
  const auto s = registry.subscribe("log", [&](const game::Damage&, const game::Health&) { ++seen; });
  const Entity orc = registry.create("orc", game::Health{});
  const auto lane = registry.host().inbox().open_lane(1);
  REQUIRE(put(*lane, orc, 1));
  registry.push(orc, game::Damage{});
  registry.post_at(5, orc, game::Damage{});
  registry.advance(10);
  CHECK(seen == 2);
  registry.flush();
  CHECK(seen == 3);
}

TEST_CASE("a full lane says no and takes nothing; after a flush it takes again") {
  EntityRegistry registry;
  int seen = 0;
  const auto s = registry.subscribe("log", [&](const game::Damage&, const game::Health&) { ++seen; });
  const Entity orc = registry.create("orc", game::Health{});
  BatchBuilder builder;
  builder.append(orc, game::Damage{});
  const std::size_t one = builder.bytes().size();
  const auto lane = registry.host().inbox().open_lane(1, 3 * one);
  CHECK(put(*lane, orc, 1));
  CHECK(put(*lane, orc, 1));
  CHECK(put(*lane, orc, 1));
  CHECK_FALSE(put(*lane, orc, 1));
  const auto other = registry.host().inbox().open_lane(2, 3 * one);
  CHECK(put(*other, orc, 1));  // a lane's limit is its own
  registry.flush();
  CHECK(seen == 4);
  CHECK(put(*lane, orc, 1));
  registry.flush();
  CHECK(seen == 5);
}

TEST_CASE("the registry's thread is woken once per time that the inbox was empty") {
  EntityRegistry registry;
  int woken = 0;
  registry.host().inbox().on_arrival([&] { ++woken; });
  registry.add_type<game::Damage>();
  const auto lane = registry.host().inbox().open_lane(1);
  REQUIRE(put(*lane, {}, 1));
  REQUIRE(put(*lane, {}, 1));
  CHECK(woken == 1);
  CHECK(registry.flush().dead == 2);
  REQUIRE(put(*lane, {}, 1));
  CHECK(woken == 2);
  registry.host().inbox().on_arrival({});
  registry.flush();
  REQUIRE(put(*lane, {}, 1));
  CHECK(woken == 2);
}

TEST_CASE("what a lane was given arrives even if its writer is gone") {
  EntityRegistry registry;
  registry.add_type<game::Damage>();
  auto lane = registry.host().inbox().open_lane(1);
  REQUIRE(put(*lane, {}, 1));
  lane.reset();
  CHECK(registry.flush().dead == 1);
  CHECK(registry.flush().dead == 0);
}
