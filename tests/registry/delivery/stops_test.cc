#include <catch2/catch.hpp>
#include <stdexcept>

#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "tests/registry/death.h"
#include "tests/registry/game.h"

using namespace muster;
using Catch::Contains;

namespace {

/// A pass over a thousand rows on four workers; `work` is done for one in the middle.
template <class Work>
std::string in_a_spread_pass(Work work) {
  return test::last_words([&] {
    ThreadPool pool(4);
    EntityRegistry registry({.executor = &pool, .pass_serial_below_ns = 0});
    registry.create_many(1000, game::Health{});
    const auto s = registry.subscribe("meddler",
                                      [&](const Update&, game::Health&, Entity self) {
                                        if (self.index == 700) work(registry);
                                      },
                                      {.external_reads = {"nothing"}});
    registry.push(Update{});
  });
}

}  // namespace

TEST_CASE("what a handler throws on a worker stops the program and names handler and message") {
  CHECK_THAT(in_a_spread_pass([](EntityRegistry&) { throw std::runtime_error("no more"); }),
             Contains("handler \"meddler\" threw while handling muster.Update: no more"));
}

TEST_CASE("using the registry in a handler on a worker stops the program and names the handler") {
  CHECK_THAT(in_a_spread_pass([](EntityRegistry& registry) { registry.push(Update{}); }),
             Contains("the registry was used inside a handler (\"meddler\")"));
}
