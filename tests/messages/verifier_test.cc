#include "messages/verifier.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/hex.h"
#include "tests/messages/rebuild.h"
#include "tests/messages/test_types.h"

namespace {

using namespace muster;
using namespace test;

const TypeTable& types() {
  static TypeTable table;
  static const bool added = table.add<Damage>().has_value();
  REQUIRE(added);
  return table;
}

std::vector<std::vector<std::byte>> good_batches() {
  std::vector<std::vector<std::byte>> all;
  for (const bool causes : {false, true}) {
    BatchBuilder to;
    to.set_causes(causes);
    to.set_cause(7);
    Painted painted;
    painted.on = true;
    painted.color = Color::green;
    painted.wings = Wings::left | Wings::tail;
    painted.steps[1] = Step::back;
    painted.slots[1].full = true;
    to.append(Entity{1, 1}, painted);
    to.append(Entity{2, 1}, painted);
    to.append_world(Tick{.dt = 1});
    to.append_subtree(Entity{1, 1}, subtree_self, Nudge{});
    to.append_shared(std::vector<Entity>{{1, 1}, {2, 1}, {3, 1}}, painted);
    to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Matrix{}, Health{});
    to.append_rows_shared(std::vector<Entity>{{1, 1}, {2, 1}}, Make{}, Lamp{.lit = true}, Tag64{.bits = 1});
    Say say;
    say.text = "hello";
    say.loud = true;
    say.numbers = {1, 2, 3};
    say.words.resize(2);
    say.words[0].text = "word";
    say.names = {"a", "bc"};
    say.lamps.resize(2);
    const std::vector<std::byte> table = encode(say);
    to.append_table(TypeTraits<Say>::id, Entity{1, 1}, table);
    to.append_table(TypeTraits<Say>::id, Entity{}, table);
    BatchBuilder inner;
    inner.append(Entity{1, 1}, painted);
    to.append_timed(100, 5, inner.front());
    to.for_each([&](BatchView batch) { all.emplace_back(batch.bytes().begin(), batch.bytes().end()); });
  }
  return all;
}

TEST_CASE("batches made here are accepted, and every truncation of them is refused") {
  for (const auto& bytes : good_batches()) {
    {
      const AlignedBytes whole(bytes);
      const auto verdict = verify_batch(whole.span(), types());
      INFO((verdict ? std::string() : verdict.error().text));
      REQUIRE(verdict.has_value());
    }
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      AlignedBytes cut(std::span(bytes).first(length));
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
  std::size_t accepted = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 200000; ++round) {
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
  CHECK(accepted > 10000);
  CHECK(accepted < 190000);
  CHECK(read > 0);
}

}  // namespace
