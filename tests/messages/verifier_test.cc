#include "messages/judge/verifier.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/good_batches.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/rebuild.h"
#include "tests/messages/test_types.h"

namespace verifier_test {
namespace {

using namespace muster;
using namespace ::test;

TEST_CASE("batches made here are accepted, and every truncation of them is refused") {
  for (const auto& bytes : good_batches()) {
    {
      const AlignedBytes whole(bytes);
      const auto verdict = verify_batch(whole.span(), types());
      INFO((verdict ? std::string() : verdict.error().text));
      REQUIRE(verdict.has_value());
    }
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      AlignedBytes cut(std::span<const std::byte>(bytes).first(length));
      REQUIRE(!verify_batch(cut.span(), types()));
      if (length < 4) continue;
      const auto claimed = static_cast<std::uint32_t>(length);  // the header admits the shorter length
      std::memcpy(cut.span().data(), &claimed, 4);
      REQUIRE(!verify_batch(cut.span(), types()));
    }
  }
}

TEST_CASE("200,000 mutations are judged without a fault of ours; what is accepted can be read and keeps its bytes") {
  const auto good = good_batches();
  std::mt19937 random(1);
  constexpr unsigned mutations = 200000;
  std::size_t accepted = 0;
  std::uint64_t read = 0;
  for (unsigned round = 0; round < mutations; ++round) {
    AlignedBytes bytes(good[random() % good.size()]);
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      std::byte& at = bytes.span()[random() % bytes.span().size()];
      switch (random() % 4) {
        case 0: at = static_cast<std::byte>(random()); break;
        case 1: at ^= static_cast<std::byte>(1u << random() % 8); break;
        case 2: at = std::byte{0}; break;
        default: at = static_cast<std::byte>(std::to_integer<unsigned>(at) + 1); break;
      }
    }
    const auto verdict = verify_batch(bytes.span(), types());
    const auto strict = verify_batch(bytes.span(), types(), {.values = true});
    REQUIRE((strict || !verdict || is_about_a_value(strict.error().fault)));
    REQUIRE((verdict || !strict));
    if (!verdict) {
      REQUIRE(!verdict.error().text.empty());
      REQUIRE(verdict.error().offset <= bytes.span().size());
      continue;
    }
    ++accepted;
    REQUIRE(verdict->bytes().size() == bytes.span().size());
    const BatchView batch = verdict->kind() == BatchKind::timed ? verdict->inner() : *verdict;
    read += read_through(batch);
    REQUIRE(hex_text(rebuilt(batch, types())) == hex_text(batch.bytes()));
  }
  CHECK(accepted > mutations / 20);
  CHECK(accepted < mutations - mutations / 20);
  CHECK(read > 0);
}

}  // namespace
}  // namespace verifier_test
