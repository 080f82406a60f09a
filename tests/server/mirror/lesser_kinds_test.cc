// What rows have that lack some of what their archetype has is found for a whole chunk.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "server/mirror/lesser_kinds.h"
#include "tests/support/random.h"

namespace lesser_kinds_test {

using namespace muster;
using muster::test::Random;

namespace {

std::vector<TypeId> types_of(const SeenKind& whole, const std::vector<LesserKinds::Said>& said, std::uint32_t row) {
  std::vector<TypeId> types;
  for (const TypeId type : whole.types) {
    const auto one = std::ranges::find(said, type, &LesserKinds::Said::type);
    if (one == said.end() || one->rows[row] != 0) types.push_back(type);
  }
  return types;
}

}  // namespace

TEST_CASE("each row is of the kind of what it has, and rows that have the same are of one kind", "[follow]") {
  LesserKinds kinds;
  std::map<std::pair<std::uint32_t, std::vector<TypeId>>, std::shared_ptr<const SeenKind>> known;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const auto number = static_cast<std::uint32_t>(random.below(3));
    auto whole = std::make_shared<SeenKind>();
    whole->number = number;
    std::vector<LesserKinds::Said> said;
    const auto rows = static_cast<std::uint32_t>(1 + random.below(300));
    const std::uint64_t often = random.below(101);
    for (TypeId type = 10; type < 10 + 80 * (seed % 2) + 5; ++type) {  // more of them than a word has bits
      whole->types.push_back(type);
      if (type % 3 == 0 && said.size() > 0 && seed % 4 != 0) continue;
      said.push_back({type, {}});
      for (std::uint32_t row = 0; row < rows; ++row) said.back().rows.push_back(random.percent(often) ? 1 : 0);
    }
    auto& whole_known = known[{number, whole->types}];
    const std::shared_ptr<const SeenKind> as = whole_known ? whole_known : (whole_known = whole);
    const auto each = kinds.of_rows(as, said);
    if (!each) {
      for (std::uint32_t row = 0; row < rows; ++row) REQUIRE(types_of(*as, said, row) == as->types);
      continue;
    }
    REQUIRE(each->of_row.size() == rows);
    std::set<const SeenKind*> different;
    for (const auto& kind : each->kinds) REQUIRE(different.insert(kind.get()).second);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::shared_ptr<const SeenKind>& kind = each->kinds[each->of_row[row]];
      REQUIRE(kind->types == types_of(*as, said, row));
      auto& same = known[{number, kind->types}];
      if (same && same->types.size() != kind->types.size()) FAIL("mixed up");
      if (!same) same = kind;
      REQUIRE(same == kind);
    }
  }
  std::set<std::uint32_t> numbers;
  for (const auto& [key, kind] : known)
    if (kind->number >= 1u << 31) REQUIRE(numbers.insert(kind->number).second);
}

TEST_CASE("kinds that nobody is of any more are forgotten, and those that somebody is of are not", "[follow]") {
  LesserKinds kinds;
  const auto whole = std::make_shared<const SeenKind>(SeenKind{1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  std::vector<LesserKinds::Said> said;
  for (const TypeId type : whole->types) said.push_back({type, {0}});
  const auto first = kinds.of_rows(whole, said);
  for (std::uint32_t step = 1; step < 4096; ++step) {
    for (std::size_t i = 0; i < said.size(); ++i) said[i].rows[0] = step >> i & 1;
    (void)kinds.of_rows(whole, said);
    kinds.forget_unused();
    REQUIRE(kinds.size() < 200);
  }
  for (LesserKinds::Said& one : said) one.rows[0] = 0;
  CHECK(kinds.of_rows(whole, said)->kinds[0] == first->kinds[0]);
}

}  // namespace lesser_kinds_test
