#include <catch2/catch.hpp>

#include "messages/batch_builder.h"
#include "messages/single_batch.h"
#include "tests/registry/game.h"

namespace single_batch_test {

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

TEST_CASE("a single Create with components on the stack has the bytes of the same one in a builder") {
  const Create create{.parent = {2, 1}};
  BatchBuilder builder;
  builder.append_rows(Entity{5, 3}, create, game::Health{.value = 3}, game::Member{.squad = {9, 1}}, game::Count{});
  const SingleRows<Create, game::Health, game::Member, game::Count> single(
      Entity{5, 3}, create, game::Health{.value = 3}, game::Member{.squad = {9, 1}}, game::Count{});
  const auto a = builder.bytes(), b = single.bytes();
  CHECK((a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0));
  BatchBuilder empty;
  empty.append_rows(Entity{5, 3}, create);
  const SingleRows<Create> alone(Entity{5, 3}, create);
  const auto c = empty.bytes(), d = alone.bytes();
  CHECK((c.size() == d.size() && std::memcmp(c.data(), d.data(), c.size()) == 0));
}

}  // namespace single_batch_test
