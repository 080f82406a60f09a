// A page of children whose list changes between two slices.
#include <catch2/catch.hpp>

#include "messages/session.h"
#include "registry/entity_registry.h"
#include "server/questions/question_table.h"
#include "tests/server/made_session.h"
#include "tests/server/queued_frames.h"

namespace child_list_test {

using namespace muster;

namespace {

struct Listing {
  EntityRegistry registry;
  const ServerLimits limits = {};
  std::shared_ptr<Session> session = testing::made_session();
  Entity town = registry.create("town");
  std::vector<Entity> houses;

  explicit Listing(int children = 20) {
    for (int i = 0; i < children; ++i) houses.push_back(registry.create_under(town, "h" + std::to_string(i)));
  }
  std::unique_ptr<Inquiry> begin(std::uint32_t offset, std::uint32_t limit) {
    session::ListChildren what;
    what.entity = town;
    what.offset = offset;
    what.limit = limit;
    return begin_slices(Asked{registry, limits, session, 7}, what);
  }
  /// The answer, which is one frame.
  session::Children page() const {
    std::vector<session::Children> pages;
    testing::take_all_frames(*session->outgoing(), [&](const WireFrame& frame) {
      pages.push_back(session::read<session::Children>(BatchView(frame.batch)));
    });
    REQUIRE(pages.size() == 1);
    return pages.front();
  }
};

}  // namespace

TEST_CASE("a child that was passed and goes before the next slice is not counted in the page's offset") {
  for (const std::size_t passed : {1u, 3u, 5u}) {
    CAPTURE(passed);
    Listing list;
    const auto inquiry = list.begin(5, 4);
    Steps slice(passed);  // one step for each child that is passed by
    REQUIRE(inquiry->go_on(slice) == Inquiry::Progress::again);
    list.registry.destroy(list.houses[passed - 1]);
    Steps rest(10'000);
    REQUIRE(inquiry->go_on(rest) == Inquiry::Progress::done);
    const session::Children page = list.page();
    CHECK(page.total == 19);
    CHECK(page.entities == std::vector<Entity>(list.houses.begin() + 6, list.houses.begin() + 10));
  }
}

TEST_CASE("where all children that were passed are gone a page begins anew") {
  Listing list;
  const auto inquiry = list.begin(2, 3);
  Steps slice(8);  // two are passed by, then three steps for each that is told
  REQUIRE(inquiry->go_on(slice) == Inquiry::Progress::again);
  for (std::size_t i = 0; i < 6; ++i) list.registry.destroy(list.houses[i]);
  Steps rest(10'000);
  REQUIRE(inquiry->go_on(rest) == Inquiry::Progress::done);
  CHECK(list.page().entities == std::vector<Entity>(list.houses.begin() + 8, list.houses.begin() + 11));
}

TEST_CASE("a page that begins anew behind more children than are remembered is counted from the first") {
  Listing list(300);
  const auto inquiry = list.begin(140, 3);
  Steps slice(138);
  REQUIRE(inquiry->go_on(slice) == Inquiry::Progress::again);
  // Those that are remembered, the last 128 at most, and none before.
  for (std::size_t i = 10; i < 138; ++i) list.registry.destroy(list.houses[i]);
  Steps rest(10'000);
  REQUIRE(inquiry->go_on(rest) == Inquiry::Progress::done);
  const session::Children page = list.page();
  CHECK(page.total == 172);
  const auto first = list.houses.begin() + 138 + (140 - 10);
  CHECK(page.entities == std::vector<Entity>(first, first + 3));
}

}  // namespace child_list_test
