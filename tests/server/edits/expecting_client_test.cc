// The client library's calls for edits that expect something of the world, and for dry runs.
#include <catch2/catch.hpp>
#include <string>

#include "client/cpp/expect.h"
#include "tests/server/live_world.h"

namespace expecting_client_test {

using namespace muster;
using namespace muster::testing;

TEST_CASE("a client sends edits with expectations, and asks what they would do", "[client][expectations]") {
  LiveWorld world;
  Client client = world.client();
  const Entity town = client.create({}, "town").value();
  const Entity orc = client.create(town, "orc", arena::Health{.value = 30}).value();
  BatchBuilder destroy;
  destroy.append(town, Destroy{});

  const std::uint64_t before = world.hash();
  const session::WouldChange would = client.dry_run(destroy.bytes(), {expect_descendants(town, 1)}).value();
  CHECK(would.destroyed == 2);
  CHECK(would.entities.size() == 2);
  const auto not_so = client.dry_run(destroy.bytes(), {expect_descendants(town, 2)});
  REQUIRE_FALSE(not_so);
  CHECK(not_so.error().fault.reason == "descendants_mismatch");
  CHECK(world.hash() == before);

  const auto refused = client.push_if({expect_value(orc, arena::Health{.value = 31})}, orc, Destroy{});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ClientError::Kind::refused);
  CHECK(refused.error().fault.reason == "value_mismatch");
  CHECK_FALSE(client.push_if({expect_absent<arena::Health>(orc)}, orc, Destroy{}));
  const std::vector<session::Expectation> all{expect_value(orc, arena::Health{.value = 30}),
                                              expect_present<arena::Health>(orc), expect_absent<arena::Score>(orc),
                                              expect_parent(orc, town), expect_name(orc, "orc")};
  CHECK(client.push_if(all, orc, Destroy{}).value().handled == 1);
  CHECK_FALSE(client.show(orc));

  BatchBuilder damage;
  damage.append(town, arena::Damage{});
  CHECK(client.push_batch_if({expect_name(town, "town")}, damage.bytes()).has_value());
  CHECK(client.dry_run(damage.bytes()).error().fault.reason == "not_an_edit");
}

}  // namespace expecting_client_test
