#include <catch2/catch.hpp>

#include "messages/batch_builder.h"
#include "messages/single_batch.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

template <class M>
bool equal(const M& message) {
  BatchBuilder builder;
  builder.append(Entity{5, 3}, message);
  const SingleBatch<M> single(Entity{5, 3}, message);
  const auto a = builder.bytes(), b = single.bytes();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

TEST_CASE("a single message on the stack has the bytes of the same message in a builder") {
  CHECK(equal(game::Damage{.amount = 2, .from = {1, 1}}));
  CHECK(equal(game::Heal{.amount = 2}));
  CHECK(equal(SetField{.component = 1, .field = 2, .bytes = 3}));
}
