// Types by id: found whatever there are, with memory and steps that grow with their number.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <string>
#include <unordered_set>

#include "messages/type_index.h"
#include "schema/hash.h"

using namespace muster;

namespace {

struct Types {
  std::deque<TypeDescriptor> made;
  std::vector<const TypeDescriptor*> all;
  std::unordered_set<TypeId> ids;
  TypeIndex index;
  void put(TypeId id) {
    made.emplace_back().id = id;
    all.push_back(&made.back());
  }
  /// Fewer where ids meet.
  void add(std::size_t count) {
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const TypeId id = hash32("big.Type" + std::to_string(made.size() + ids.size()));
      if (!ids.insert(id).second) continue;
      put(id);
      ++fresh;
    }
    index.add(all, fresh);
  }
  bool finds_all() const {
    for (const TypeDescriptor* type : all)
      if (index.find(type->id) != type) return false;
    return true;
  }
  bool finds_others(std::mt19937& random) const {
    for (int i = 0; i < 10'000; ++i)
      if (const auto id = static_cast<TypeId>(random()); !ids.contains(id) && index.find(id) != nullptr) return true;
    return false;
  }
};

}  // namespace

TEST_CASE("every type is found by its id and nothing else, however many there are and however they came") {
  std::mt19937 random(31);
  CHECK(TypeIndex().find(1) == nullptr);
  CHECK(TypeIndex().find(0) == nullptr);
  for (const std::size_t at_once : {1, 7, 100, 300, 5000}) {
    Types types;
    for (std::size_t i = 0; i < 6; ++i) {
      types.add(at_once);
      REQUIRE(types.finds_all());
      REQUIRE_FALSE(types.finds_others(random));
    }
  }
}

TEST_CASE("types of a large schema take slots and steps in proportion to their number") {
  for (const std::size_t count : {3000, 30'000, 60'000}) {
    Types types;
    types.add(count);
    CHECK(types.index.slots() <= 8 * count);
    CHECK(types.index.steps() <= 8 * count);
    CHECK(types.finds_all());
  }
}

TEST_CASE("types that come one by one are put into the index that is there") {
  Types types;
  for (int i = 0; i < 300; ++i) types.add(1);
  const std::uint64_t before = types.index.steps();
  for (int i = 0; i < 20'000; ++i) types.add(1);
  CHECK(types.index.steps() - before <= 20'300 * 8);
  CHECK(types.finds_all());
}

TEST_CASE("ids that are made to meet are spread by another multiplier") {
  Types types;
  // Under the first multiplier, whose inverse this is, they all begin at one slot.
  std::uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - 0x9e3779b1u * inverse;
  REQUIRE(inverse * 0x9e3779b1u == 1);
  for (std::uint32_t i = 1; i <= 2000; ++i) types.put(inverse * (0xabcd0000u + i));
  types.index.add(types.all, types.all.size());
  CHECK(types.finds_all());
  CHECK(types.index.steps() <= 2000 * 8);
  CHECK(types.index.slots() <= 2000 * 16);
}
