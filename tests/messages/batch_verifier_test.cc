// Who judges one batch after another keeps what follows from a header, and says what one who knows nothing says.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "tests/messages/good_batches.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/test_types.h"

namespace batch_verifier_test {
namespace {

using namespace muster;
using namespace ::test;

template <class M>
std::vector<std::byte> one_of(const M& message, int count = 1) {
  BatchBuilder builder;
  for (int i = 0; i < count; ++i) builder.append(Entity{1, 1}, message);
  const auto bytes = builder.bytes();
  return {bytes.begin(), bytes.end()};
}

/// As it is judged alone, in both ways of asking.
void check_as_alone(BatchVerifier& verifier, const AlignedBytes& bytes, const VerifierLimits& limits) {
  const auto alone = verify_batch(bytes.span(), types(), limits);
  const bool at_a_glance = verifier.again(bytes.span());
  if (at_a_glance) REQUIRE(alone.has_value());
  const auto found = verifier.verify(bytes.span(), types(), limits);
  REQUIRE(found.has_value() == alone.has_value());
  if (at_a_glance) CHECK(verifier.repeats());
  if (found) {
    REQUIRE(found->bytes().data() == bytes.span().data());
    return;
  }
  REQUIRE(found.error().fault == alone.error().fault);
  REQUIRE(found.error().offset == alone.error().offset);
  REQUIRE(found.error().type == alone.error().type);
  REQUIRE(found.error().field == alone.error().field);
  REQUIRE(found.error().text == alone.error().text);
}

}  // namespace

TEST_CASE("100,000 batches one after the other, many like the one before, are judged as each alone") {
  auto good = good_batches();
  good.push_back(one_of(Nudge{}));
  good.push_back(one_of(Nudge{.x = 1}, 5));
  good.push_back(one_of(Shown{}));
  good.push_back(one_of(Damage{}, 3));
  for (const bool values : {false, true}) {
    CAPTURE(values);
    const VerifierLimits limits{.values = values};
    std::mt19937 random(values ? 7 : 8);
    BatchVerifier verifier;
    std::size_t at = 0;
    std::uint64_t repeats = 0, refused = 0;
    for (int round = 0; round < 50'000; ++round) {
      if (random() % 4 == 0) at = random() % good.size();
      AlignedBytes bytes(good[at]);
      // Mostly behind the header: that is what stays the same.
      const std::size_t header = sizeof(BatchHeader), size = bytes.span().size();
      for (auto changes = random() % 3; changes > 0; --changes) {
        const std::size_t place = random() % 20 == 0 ? random() % header : header + random() % (size - header);
        std::byte& changed = bytes.span()[place];
        switch (random() % 4) {
          case 0: changed = std::byte{0xff}; break;
          case 1: changed ^= static_cast<std::byte>(1u << random() % 8); break;
          case 2: changed = std::byte{0x7f}; break;
          default: changed = std::byte{0}; break;
        }
      }
      if (random() % 50 == 0) bytes.span()[0] = static_cast<std::byte>(random());
      if (random() % 1000 == 0) verifier.forget();
      check_as_alone(verifier, bytes, limits);
      repeats += verifier.repeats();
      refused += !verify_batch(bytes.span(), types(), limits);
    }
    CHECK(repeats > 15'000);
    CHECK(refused > 5'000);
  }
}

TEST_CASE("of floats in a row, one that is none is found wherever it stands, and whatever stands beside it") {
  const float odd[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0xff80'0001u)};
  const float even[] = {0.f,
                        -0.f,
                        1.f,
                        std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::lowest(),
                        std::numeric_limits<float>::denorm_min(),
                        std::bit_cast<float>(0x7f7f'ffffu)};
  const VerifierLimits limits{.values = true};
  BatchVerifier verifier;
  REQUIRE(verifier.verify(AlignedBytes(one_of(Shown{})).span(), types(), limits).has_value());
  std::mt19937 random(3);
  constexpr std::size_t floats = sizeof(Shown) / sizeof(float);
  for (int round = 0; round < 2'000; ++round) {
    float values[floats];
    for (float& value : values) value = even[random() % std::size(even)];
    const bool has_odd = round % 2 == 0;
    if (has_odd) values[random() % floats] = odd[random() % std::size(odd)];
    Shown shown;
    std::memcpy(&shown, values, sizeof shown);
    const AlignedBytes bytes(one_of(shown));
    CHECK(verifier.again(bytes.span()) != has_odd);
    check_as_alone(verifier, bytes, limits);
  }
}

TEST_CASE("what a header does not tell is looked at in every batch, and other batches are no repetition") {
  const VerifierLimits limits{.values = true};
  BatchVerifier verifier;
  const auto damage = one_of(Damage{});
  CHECK_FALSE(verifier.again(AlignedBytes(damage).span()));
  REQUIRE(verifier.verify(AlignedBytes(damage).span(), types(), limits).has_value());
  CHECK_FALSE(verifier.repeats());
  CHECK(verifier.again(AlignedBytes(damage).span()));
  auto filled = damage;
  filled.back() = std::byte{1};
  CHECK_FALSE(verifier.again(AlignedBytes(filled).span()));
  CHECK(verifier.verify(AlignedBytes(filled).span(), types(), limits).error().fault == Fault::nonzero_padding);
  CHECK(verifier.again(AlignedBytes(damage).span()));
  auto longer = damage;
  longer.resize(longer.size() + 16);
  CHECK_FALSE(verifier.again(AlignedBytes(longer).span()));
  CHECK_FALSE(verifier.again(AlignedBytes(one_of(Damage{}, 2)).span()));
  CHECK_FALSE(verifier.again({}));
  // Where something stands between payloads, a glance does not do.
  const auto nudge = one_of(Nudge{});
  REQUIRE(verifier.verify(AlignedBytes(nudge).span(), types(), limits).has_value());
  CHECK_FALSE(verifier.again(AlignedBytes(nudge).span()));
  REQUIRE(verifier.verify(AlignedBytes(nudge).span(), types(), limits).has_value());
  CHECK(verifier.repeats());
  verifier.forget();
  CHECK_FALSE(verifier.again(AlignedBytes(damage).span()));
}

}  // namespace batch_verifier_test
