// Managers whose saved state is in parts: what is put together and written again, what is kept, what is refused.
#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "registry/host.h"
#include "tests/model/state_rows.h"
#include "tests/registry/heights.h"

using namespace muster;
using heights::Heights;
using heights::Keeper;
using heights::part;
using heights::Saved;

namespace {

using Written = std::vector<int>;

std::string refusal(Keeper& keeper, std::uint32_t version, Saved saved = Saved::in_parts) {
  EntityRegistry registry;
  const Heights heights(registry, saved, version);
  const auto loaded = registry.load(keeper);
  return loaded ? "was loaded" : loaded.error().text();
}

std::string of_managers(const std::string& text) { return "managers " + std::to_string(Heights::key) + ": " + text; }

}  // namespace

TEST_CASE("of a manager in parts those are put together and written that changed, and nothing where none did") {
  EntityRegistry registry;
  Heights heights(registry);
  for (std::uint32_t i = 0; i < 12; ++i) heights.set(i, static_cast<std::int32_t>(i));
  Keeper keeper;
  CHECK(keeper.save(registry) == Written{0, 1, 2, -1});
  CHECK(heights.put_together == 3);
  CHECK(keeper.save(registry) == Written{});
  CHECK(heights.put_together == 3);
  heights.set(5, 50);
  CHECK(keeper.save(registry) == Written{1});
  CHECK(heights.put_together == 4);
  CHECK(keeper.save(registry) == Written{});
  CHECK(heights.put_together == 4);
}

TEST_CASE("parts of a manager that change between two saves are all written, each with its last bytes") {
  EntityRegistry registry;
  Heights heights(registry);
  for (std::uint32_t i = 0; i < 16; ++i) heights.set(i, static_cast<std::int32_t>(i));
  Keeper keeper;
  keeper.save(registry);
  heights.set(1, 10);
  heights.set(9, 90);
  heights.set(1, 11);
  CHECK(keeper.save(registry) == Written{0, 2});
  EntityRegistry loaded;
  const Heights again(loaded);
  REQUIRE(loaded.load(keeper));
  CHECK(again.at(1) == 11);
  CHECK(again.at(9) == 90);
}

TEST_CASE("a part of a manager that went is no row any more, and one that came again is another") {
  EntityRegistry registry;
  Heights heights(registry);
  heights.set(0, 1);
  heights.set(8, 2);
  Keeper keeper;
  keeper.save(registry);
  heights.drop(2);
  CHECK(keeper.save(registry) == Written{-1});  // it says how many there are
  CHECK_FALSE(keeper.kept.contains(part(2)));
  heights.set(8, 3);
  CHECK(keeper.save(registry) == Written{2, -1});
  heights.drop(2);
  heights.set(8, 4);
  CHECK(keeper.save(registry) == Written{2});
  EntityRegistry loaded;
  const Heights again(loaded);
  REQUIRE(loaded.load(keeper));
  CHECK(again.at(8) == 4);
  CHECK(again.at(0) == 1);
  heights.drop(0);
  heights.drop(2);
  CHECK(keeper.save(registry) == Written{-1});
  EntityRegistry empty;
  const Heights none(empty);
  REQUIRE(empty.load(keeper));
  CHECK(none.at(8) == 0);
  CHECK(empty.hash() == registry.hash());
}

TEST_CASE("the hash knows what parts of a manager hold, and neither how they were saved nor who has them") {
  EntityRegistry registry;
  Heights heights(registry);
  heights.set(0, 1);
  heights.set(21, 2);
  const std::uint64_t before = registry.hash();
  Keeper keeper;
  keeper.save(registry);
  CHECK(registry.hash() == before);
  heights.set(0, 5);
  CHECK(registry.hash() != before);
  keeper.save(registry);
  heights.set(0, 1);
  CHECK(registry.hash() == before);
  keeper.save(registry);

  EntityRegistry with, without;
  const Heights again(with);
  REQUIRE(with.load(keeper));
  CHECK(again.loaded_version == 2);
  CHECK(with.hash() == before);
  REQUIRE(without.load(keeper));
  CHECK(without.hash() == before);
  const Heights later(without);
  CHECK(without.hash() == before);
}

TEST_CASE("the same bytes in other parts of a manager are another hash") {
  EntityRegistry first, second;
  Heights one(first), two(second);
  one.set(0, 7);
  two.set(4, 7);
  CHECK(first.hash() != second.hash());
}

TEST_CASE("a new process compares a manager's parts with what is kept, and writes those alone that are others") {
  Keeper keeper;
  {
    EntityRegistry registry;
    Heights heights(registry);
    for (std::uint32_t i = 0; i < 12; ++i) heights.set(i, static_cast<std::int32_t>(i));
    keeper.save(registry);
  }
  keeper.forget_versions();
  EntityRegistry registry;
  Heights heights(registry);
  REQUIRE(registry.load(keeper));
  CHECK(keeper.save(registry) == Written{});
  CHECK(heights.put_together == 3);
  CHECK(keeper.save(registry) == Written{});
  CHECK(heights.put_together == 3);
  heights.set(0, 1);
  CHECK(keeper.save(registry) == Written{0});
}

TEST_CASE("parts of a manager that is gone are kept and saved back, and its successor gets them") {
  Keeper keeper;
  {
    EntityRegistry registry;
    Heights heights(registry);
    for (std::uint32_t i = 0; i < 8; ++i) heights.set(i, static_cast<std::int32_t>(i));
    keeper.save(registry);
  }
  EntityRegistry registry;  // of a program without it
  REQUIRE(registry.load(keeper));
  Keeper back;
  CHECK(back.save(registry) == Written{0, 1, -1});
  CHECK(back.kept == keeper.kept);
  CHECK(back.save(registry) == Written{});
  {
    Heights heights(registry);
    CHECK(heights.at(7) == 7);
    CHECK(back.save(registry) == Written{});
    heights.set(7, 70);
    CHECK(back.save(registry) == Written{1});
    heights.set(7, 71);
  }
  CHECK(back.save(registry) == Written{1});  // as it went
  const Heights heights(registry);
  CHECK(heights.at(7) == 71);
}

TEST_CASE(
    "versions of a manager's parts mean nothing to its successor, nor those of before a change that was taken back") {
  /// Counts its changes from 1.
  struct Counter final : Manager {
    std::uint64_t version = 0;
    std::uint32_t value = 0;
    void set(std::uint32_t to) {
      value = to;
      ++version;
    }
    bool in_parts() const override { return true; }
    void save_parts(ManagerSink& to) const override {
      if (!to.has(0, version)) to.part(0, version, std::as_bytes(std::span(&value, 1)));
    }
    std::expected<void, std::string> load_parts(std::uint32_t, std::span<const ManagerPart> parts) override {
      std::memcpy(&value, parts[0].bytes.data(), sizeof value);
      return {};
    }
  };
  EntityRegistry registry;
  Keeper keeper;
  Counter first, second;
  first.set(1);
  registry.add_manager("counter", first);
  keeper.save(registry);
  registry.remove_manager(first);
  const ManagerStates waiting = registry.host().waiting_managers();
  registry.add_manager("counter", second);
  CHECK(second.value == 1);
  second.set(2);
  CHECK(second.version == first.version);
  CHECK(keeper.save(registry) == Written{0});
  // As a reload that fails after all goes back.
  registry.remove_manager(second);
  keeper.save(registry);
  registry.host().set_waiting_managers(waiting);
  CHECK(keeper.save(registry) == Written{0});
  Counter third;
  registry.add_manager("counter", third);
  CHECK(third.value == 1);
  CHECK(keeper.save(registry) == Written{});
  registry.remove_manager(third);
}

TEST_CASE("what was saved in one piece is read by a manager that is in parts now, and saved in parts") {
  EntityRegistry before;
  Heights whole(before, Saved::whole);
  for (std::uint32_t i = 0; i < 8; ++i) whole.set(i, static_cast<std::int32_t>(i));
  Keeper keeper;
  CHECK(keeper.save(before) == Written{-1});
  CHECK(keeper.save(before) == Written{});
  CHECK_FALSE(keeper.kept.contains(part(0)));
  EntityRegistry registry;
  const Heights heights(registry);
  REQUIRE(registry.load(keeper));
  CHECK(heights.at(7) == 7);
  CHECK(keeper.save(registry) == Written{0, 1, -1});
  CHECK(refusal(keeper, 2, Saved::whole) ==
        of_managers("manager \"heights\": its state is in parts, which this build cannot read"));
  CHECK(refusal(keeper, 2) == "was loaded");
}

TEST_CASE("a manager that reads nothing is not given what was saved: it would be lost") {
  struct Silent final : Manager {};
  EntityRegistry before;
  Heights whole(before, Saved::whole);
  Keeper keeper;
  keeper.save(before);
  const auto load = [&]() -> std::string {
    Silent silent;
    EntityRegistry registry;
    registry.add_manager(Heights::name, silent);
    const auto loaded = registry.load(keeper);
    return loaded ? "was loaded" : loaded.error().what;
  };
  CHECK(load() == "manager \"heights\": it has version 2, but this build supports at most 1");
  EntityRegistry older;
  Heights first(older, Saved::whole, 1);
  keeper.save(older);
  CHECK(load() == "was loaded");  // there is nothing
  first.set(0, 1);
  keeper.save(older);
  CHECK(load() == "manager \"heights\": its state is in one piece, which this build cannot read");
}

TEST_CASE("a manager's state of a newer version, or of which a part is missing or damaged, is refused, saying which") {
  EntityRegistry registry;
  Heights heights(registry);
  heights.set(0, 1);
  heights.set(4, 1);
  Keeper keeper;
  keeper.save(registry);
  CHECK(refusal(keeper, 3) == "was loaded");
  CHECK(refusal(keeper, 1) == of_managers("manager \"heights\": it has version 2, but this build supports at most 1"));
  Keeper damaged = keeper;
  damaged.kept.erase(part(0));
  CHECK(refusal(damaged, 2) == of_managers("manager \"heights\": found 1 parts of its state, expected 2"));
  damaged = keeper;
  damaged.kept.at(part(1)).pop_back();
  CHECK(refusal(damaged, 2) == of_managers("manager \"heights\": page 1 is truncated"));
  damaged = keeper;
  damaged.kept[{StateSection::manager_parts, 77, 3}] = {};
  CHECK(refusal(damaged, 2) == "manager_parts 77 part 3: the part belongs to no manager");
  damaged = keeper;
  damaged.kept.erase({StateSection::managers, Heights::key, 0});
  CHECK(refusal(damaged, 2) ==
        "manager_parts " + std::to_string(Heights::key) + " part 0: the part belongs to no manager");
  EntityRegistry later;
  REQUIRE(later.load(keeper));
  CHECK_THROWS_WITH(
      Heights(later, Saved::in_parts, 1),
      "manager \"heights\" rejected its saved state: it has version 2, but this build supports at most 1");
  const Heights fits(later);
  CHECK(fits.at(4) == 1);
}

TEST_CASE("state of a manager whose name has the hash of another's is refused to a registry with that, not lost") {
  constexpr std::string_view first = "8yn0iYCKYHlIj4-BwPqk", second = "GReLUrM4wMqfg9yzV3KQ";
  struct Silent final : Manager {
  } silent;
  EntityRegistry before;
  before.add_manager(std::string(first), silent);
  Keeper keeper;
  keeper.save(before);
  EntityRegistry registry;
  registry.add_manager(std::string(second), silent);
  const auto loaded = registry.load(keeper);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().what ==
        "managers \"8yn0iYCKYHlIj4-BwPqk\" and \"GReLUrM4wMqfg9yzV3KQ\" have the same hash; rename one");
}

TEST_CASE("a keeper that asks for parts that changed has what a whole save gives, whatever happened between") {
  std::mt19937 random(52);
  for (int program = 0; program < 60; ++program) {
    auto registry = std::make_unique<EntityRegistry>();
    auto heights = std::make_unique<Heights>(*registry);
    Keeper keeper;
    for (int step = 0; step < 60; ++step) {
      switch (random() % 12) {
        case 0: heights->drop(static_cast<std::uint32_t>(random() % 10)); break;
        case 1: {  // a reload
          heights.reset();
          if (random() % 2 != 0) keeper.save(*registry);
          heights = std::make_unique<Heights>(*registry);
          break;
        }
        case 2: {  // another process
          keeper.save(*registry);
          keeper.forget_versions();
          auto next = std::make_unique<EntityRegistry>();
          const bool first = random() % 2 != 0;
          std::unique_ptr<Heights> loaded;
          if (first) loaded = std::make_unique<Heights>(*next);
          REQUIRE(next->load(keeper));
          REQUIRE(next->hash() == registry->hash());
          if (!first) loaded = std::make_unique<Heights>(*next);
          heights = std::move(loaded);
          registry = std::move(next);
          break;
        }
        default: heights->set(static_cast<std::uint32_t>(random() % 40), static_cast<std::int32_t>(random() % 5));
      }
      if (random() % 3) continue;
      keeper.save(*registry);
      REQUIRE((naive::saved_rows(*registry) == keeper.kept));
    }
    heights.reset();
  }
}
