// A batch with causes, taken again without them, from any of its messages on.
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/causes.h"
#include "tests/messages/hex.h"
#include "tests/messages/test_types.h"

namespace without_causes_test {
namespace {

using namespace muster;
using namespace ::test;

using Write = std::function<void(BatchWriter&, std::uint32_t)>;

/// What `write` makes of the messages from `first` on, each with a cause of its own or without.
std::vector<std::byte> made(const Write& write, std::uint32_t first, std::uint32_t count, bool causes) {
  BatchBuilder to;
  to.set_causes(causes);
  for (std::uint32_t i = first; i < count; ++i) {
    to.set_cause(100 + i);
    write(to, i);
  }
  return {to.bytes().begin(), to.bytes().end()};
}

}  // namespace

TEST_CASE("without its causes a batch is as if it had been made without them, whatever its kind, from any message on") {
  TypeTable types;
  REQUIRE(types.add<Damage>());
  const auto entity = [](std::uint32_t i) { return Entity{i + 1, 1}; };
  const std::pair<const char*, Write> kinds[] = {
      {"each", [&](BatchWriter& to, std::uint32_t i) { to.append(entity(i), Damage{.amount = float(i)}); }},
      {"each, padded", [&](BatchWriter& to, std::uint32_t i) { to.append(entity(i), Nudge{.x = float(i)}); }},
      {"each, wide", [&](BatchWriter& to, std::uint32_t i) { to.append(entity(i), Wide{.low = i}); }},
      {"world", [](BatchWriter& to, std::uint32_t i) { to.append_world(Tick{.dt = double(i)}); }},
      {"world, wide", [](BatchWriter& to, std::uint32_t i) { to.append_world(Wide{.low = i}); }},
      {"subtree", [&](BatchWriter& to,
                      std::uint32_t i) { to.append_subtree(entity(i), subtree_descendants, Nudge{.y = float(i)}); }},
      {"rows",
       [&](BatchWriter& to, std::uint32_t i) {
         to.append_rows(entity(i), Make{.parent = entity(i)}, Lamp{.lit = true}, Health{.value = float(i)});
       }},
      {"table",
       [&](BatchWriter& to, std::uint32_t i) {
         to.append_table(TypeTraits<Say>::id, entity(i), encode(Say{.text = std::string(i + 1, 'a')}), subtree_self);
       }},
  };
  for (const auto& [name, write] : kinds)
    for (std::uint32_t first = 0; first < 3; ++first) {
      CAPTURE(name, first);
      const AlignedBytes with(made(write, 0, 3, true));
      const BatchView batch(std::span<const std::byte>(with.span()));
      REQUIRE(batch.has_causes());
      REQUIRE(batch.count() == 3);
      BatchBuilder to;
      append_without_causes(to, batch, types, first);
      CHECK(hex_text(to.bytes()) == hex_text(made(write, first, 3, false)));
    }
}

TEST_CASE("without its cause a message to a span has all of its targets, with rows and without") {
  TypeTable types;
  REQUIRE(types.add<Damage>());
  const std::vector<Entity> all = {{1, 1}, {2, 1}, {3, 1}};
  for (const bool rows : {false, true}) {
    const Write write = [&](BatchWriter& to, std::uint32_t) {
      rows ? to.append_rows_shared(all, Make{.parent = {9, 1}}, Matrix{.m = {1, 2, 3, 4}})
           : to.append_shared(all, Nudge{.z = 4});
    };
    const AlignedBytes with(made(write, 0, 1, true));
    BatchBuilder to;
    append_without_causes(to, BatchView(std::span<const std::byte>(with.span())), types, 0);
    CHECK(hex_text(to.bytes()) == hex_text(made(write, 0, 1, false)));
  }
}

TEST_CASE("a timed batch has no causes to lose") {
  TypeTable types;
  REQUIRE(types.add<Damage>());
  BatchBuilder inner, outer, to;
  inner.append(Entity{1, 1}, Damage{.amount = 3});
  outer.append_timed(5, 6, inner.front());
  append_without_causes(to, outer.front(), types, 0);
  CHECK(hex_text(to.bytes()) == hex_text(outer.bytes()));
}

}  // namespace without_causes_test
