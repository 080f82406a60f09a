// Memory for copies that is used again.
#include "server/world/rows/spare_blocks.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace spare_blocks_test {

using namespace muster;

namespace {

/// So many blocks at once, given back.
void use(SpareBlocks& spare, std::size_t count, std::size_t size) {
  std::vector<SpareBlocks::Block> taken;
  for (std::size_t i = 0; i < count; ++i) taken.push_back(spare.take(size));
  for (SpareBlocks::Block& block : taken) spare.give(std::move(block), size);
}

}  // namespace

TEST_CASE("a block that was given back is taken again, for sizes that such blocks are for and for no others") {
  SpareBlocks spare(1u << 20);
  SpareBlocks::Block block = spare.take(8192);
  const std::byte* const at = block.get();
  CHECK(spare.bytes() == 0);
  spare.give(std::move(block), 8192);
  CHECK(spare.bytes() == 8192);
  CHECK(spare.take(8193).get() != at);
  CHECK(spare.take(6144).get() != at);
  CHECK(spare.bytes() == 8192);
  CHECK(spare.take(6145).get() == at);
  CHECK(spare.bytes() == 0);
}

TEST_CASE("a block has room for the size that was asked for, whatever it was before") {
  SpareBlocks spare(64u << 20);
  std::mt19937_64 random(1);
  std::vector<std::pair<SpareBlocks::Block, std::size_t>> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.empty() || random() % 2) {
      const std::size_t size = 1 + random() % (std::size_t{1} << random() % 22);
      SpareBlocks::Block block = spare.take(size);
      REQUIRE(block);
      std::memset(block.get(), 1, size);  // AddressSanitizer knows how large it is
      taken.emplace_back(std::move(block), size);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      spare.give(std::move(taken.back().first), taken.back().second);
      taken.pop_back();
    }
  }
  CHECK(spare.bytes() > 0);
}

TEST_CASE("no more is spare than may be, and a block that is very large never is") {
  SpareBlocks spare(10'000);
  use(spare, 4, 4096);
  CHECK(spare.bytes() == 2 * 4096);
  use(spare, 10, 256);
  CHECK(spare.bytes() == 2 * 4096 + 7 * 256);
  SpareBlocks large(64u << 20);
  use(large, 2, (1u << 20) + 1);
  CHECK(large.bytes() == 0);
  use(large, 2, 1u << 20);
  CHECK(large.bytes() == 2u << 20);
}

TEST_CASE("what rounds need stays, and what they do not need goes") {
  SpareBlocks spare(1u << 20);
  use(spare, 100, 1024);
  spare.settle();
  CHECK(spare.bytes() == 100 * 1024);  // all were needed once
  use(spare, 20, 1024);
  spare.settle();
  CHECK(spare.bytes() == 90 * 1024);
  int rounds = 0;
  for (; spare.bytes() > 20 * 1024; ++rounds) {
    use(spare, 20, 1024);
    spare.settle();
  }
  CHECK(rounds < 40);
  for (int i = 0; i < 100; ++i) {
    use(spare, 20, 1024);
    spare.settle();
  }
  CHECK(spare.bytes() == 20 * 1024);
  for (int i = 0; i < 40; ++i) spare.settle();
  CHECK(spare.bytes() == 0);
}

}  // namespace spare_blocks_test
