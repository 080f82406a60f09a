#include <catch2/catch.hpp>

#include <map>
#include <vector>

#include "registry/entity_registry.h"
#include "tests/registry/game.h"

using namespace muster;

namespace {

struct Rows final : StateSink, StateSource {
  std::map<StateKey, std::vector<std::byte>> kept;
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    kept[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : kept)
      if (key.section == section) take(key, bytes);
  }
};

}  // namespace

TEST_CASE("posts that were saved while open are extended by later posts as if nothing had been saved") {
  EntityRegistry saved;
  const Entity a = saved.create("a", game::Health{});
  saved.post(a, game::Damage{.amount = 1});
  saved.post(a, game::Heal{.amount = 1});
  Rows rows;
  saved.save(rows);
  EntityRegistry loaded;
  const auto result = loaded.load(rows);
  REQUIRE(result);
  CHECK(loaded.hash() == saved.hash());
  for (EntityRegistry* registry : {&saved, &loaded}) registry->post(a, game::Heal{.amount = 2});
  CHECK(loaded.hash() == saved.hash());
  for (EntityRegistry* registry : {&saved, &loaded}) {
    registry->flush();
    registry->post(Update{});
    registry->post(a, Set{});
  }
  CHECK(loaded.sequence() == saved.sequence());
  Rows again;
  saved.save(again);
  EntityRegistry third;
  REQUIRE(third.load(again));
  CHECK(third.hash() == saved.hash());
}
