// What a writer of batches does not take from its own program, and what an arena says of its memory.
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/row_set.h"
#include "messages/type_table.h"
#include "tests/messages/test_types.h"
#include "tests/registry/death.h"

using namespace muster;
using muster::test::last_words;

namespace {

bool says(const std::string& words, const char* what) { return words.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("batches that nobody could read stop the program that makes them") {
  CHECK(says(last_words([] {
               BatchBuilder builder;
               builder.append_table(TypeTraits<::test::Say>::id, {}, {}, 8);
             }),
             "unknown bits in a SubtreeParts mask"));
  CHECK(says(last_words([] {
               BatchBuilder builder;
               builder.append_subtree(Entity{1, 1}, 8, ::test::Damage{});
             }),
             "unknown bits in a SubtreeParts mask"));
  CHECK(says(last_words([] {
               BatchBuilder inner, timed, twice;
               inner.append(Entity{1, 1}, ::test::Damage{});
               timed.append_timed(1, 0, inner.front());
               twice.append_timed(1, 0, timed.front());
             }),
             "a timed batch cannot hold another timed batch"));
  CHECK(says(last_words([] {
               Arena arena;
               const Entity two[] = {{1, 1}, {2, 1}};
               arena.append_shared(std::span<const Entity>(two), ::test::Damage{});
               arena.set_targets(std::span(two).first(1));
             }),
             "set_targets: the batch has a different number of targets"));
}

TEST_CASE("tables as deep as may be made are read again, and deeper ones stop the program that makes them") {
  TypeTable types;
  REQUIRE(types.add<::test::Damage>().has_value());
  const auto nested = [](std::uint32_t tables) {
    ::test::Say say{.text = "innermost"};
    for (std::uint32_t i = 1; i < tables; ++i) {
      ::test::Say outer{.text = "outer"};
      outer.words.resize(3);  // beside it, not below it
      outer.inner = std::make_unique<::test::Say>(std::move(say));
      say = std::move(outer);
    }
    return say;
  };
  BatchBuilder builder;
  builder.append_table(TypeTraits<::test::Say>::id, {}, encode(nested(TableEncoder::depth_max)));
  CHECK(verify_batch(builder.bytes(), types, own_limits).has_value());
  CHECK(says(last_words([&] { (void)encode(nested(TableEncoder::depth_max + 1)); }),
             "a message's tables are nested deeper than 1024"));
  ::test::Say wide{.text = "wide"};
  wide.words.resize(5000);
  builder.clear();
  builder.append_table(TypeTraits<::test::Say>::id, {}, encode(wide));
  CHECK(verify_batch(builder.bytes(), types, own_limits).has_value());
}

TEST_CASE("a row set holds 505 components and no more, none twice, and says where those are that it has") {
  std::vector<PayloadShape> shapes;
  for (TypeId id = 1; id <= 505; ++id) shapes.push_back({2 * id, 4, 4});
  const PayloadShape message{1, 4, 4};
  const RowSet full(message, shapes);
  CHECK(full.entries().size() == 505);
  CHECK(full.shape().bytes == 4 + 505 * 4);
  CHECK(full.offset(2) == 4);
  CHECK(full.offset(1010) == 505 * 4);
  for (const TypeId missing : {1u, 3u, 1009u, 1011u}) CHECK(full.offset(missing) == full.shape().bytes);
  shapes.push_back({5000, 4, 4});
  CHECK(says(last_words([&] { const RowSet more(message, shapes); }), "a row set holds at most 505 components"));
  const PayloadShape twice[] = {{7, 4, 4}, {8, 4, 4}, {7, 4, 4}};
  CHECK(says(last_words([&] { const RowSet same(message, twice); }), "a row set names a component twice"));
}

TEST_CASE("what an arena holds of memory is what it took and has not given back, also after a swap") {
  Arena arena(1024), other(1024);
  const auto fill = [](Arena& into) {
    for (int i = 0; i < 200; ++i) into.append(Entity{1, 1}, ::test::Damage{});
    into.seal();
    into.append_table(TypeTraits<::test::Say>::id, {}, std::vector<std::byte>(100'000));
  };
  for (int round = 0; round < 3; ++round) {
    fill(arena);
    const std::size_t held = arena.capacity();
    CHECK(held > 100'000);
    arena.clear();
    CHECK(arena.capacity() == held);  // for the next ones
    arena.trim(held);
    CHECK(arena.capacity() == held);
    arena.swap(other);
    CHECK(arena.capacity() == 0);
    CHECK(other.capacity() == held);
    other.trim();
    CHECK(other.capacity() < held);  // but the one it stands in
    arena.swap(other);
  }
}
