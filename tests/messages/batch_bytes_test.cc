// Golden bytes, written by hand from the drawing in messages/batch.h. If one of these changes, files and peers break.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "messages/arena.h"
#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/test_types.h"

namespace batch_bytes_test {
namespace {

using namespace muster;
using namespace ::test;

/// Writes with both makers and compares with the golden bytes; the verifier must accept them and a reader find them.
template <class Write>
void check_golden(const char* golden_text, Write&& write) {
  const std::vector<std::byte> golden = hex_bytes(golden_text);
  BatchBuilder builder;
  write(builder);
  CHECK(hex_text(builder.bytes()) == hex_text(golden));
  CHECK(builder.batches() == 1);
  Arena arena;
  write(arena);
  CHECK(hex_text(arena.front().bytes()) == hex_text(golden));
  const AlignedBytes copy(golden);
  const auto verdict = verify_batch(copy.span(), types());
  INFO((verdict ? std::string() : verdict.error().text));
  CHECK(verdict.has_value());
}

// Type ids below: hash32("test.Damage") = 0x0c80b9dc and so on; see the first test.
TEST_CASE("the golden batches name the types they mean") {
  CHECK(TypeTraits<Damage>::id == hash32("test.Damage"));
  CHECK(hex_id(TypeTraits<Damage>::id) == "dcb9800c");
  CHECK(hex_id(TypeTraits<Nudge>::id) == "542b8ee6");
  CHECK(hex_id(TypeTraits<Tick>::id) == "c861d4e0");
  CHECK(hex_id(TypeTraits<Wide>::id) == "2e879917");
  CHECK(hex_id(TypeTraits<Make>::id) == "8b5dc051");
  CHECK(hex_id(TypeTraits<Health>::id) == "033b5c1f");
  CHECK(hex_id(TypeTraits<Matrix>::id) == "0893a884");
  CHECK(hex_id(TypeTraits<Say>::id) == "3423fa5d");
}

TEST_CASE("golden: two damages to one entity each") {
  check_golden(
      "50000000 dcb9800c 01 00 02 08 02000000"  // 80 bytes, each, payload at 8, 2 messages
      "10000000 18000000 00000000 00000000"     // payload 16, items of 24
      "07000000 01000000  00004040 00000000 09000000 02000000"
      "08000000 01000000  0000803f 00000000 00000000 00000000",
      [](BatchWriter& to) {
        to.append(Entity{7, 1}, Damage{.amount = 3, .kind = 0, .from = {9, 2}});
        to.append(Entity{8, 1}, Damage{});
      });
}

TEST_CASE("golden: three nudges of 12 bytes, padded, with the batch padded to 16") {
  check_golden(
      "70000000 542b8ee6 01 00 02 08 03000000"
      "0c000000 18000000 00000000 00000000"
      "01000000 01000000  0000803f 00000000 00000000  00000000"
      "02000000 01000000  00000040 00000000 00000000  00000000"
      "03000000 01000000  00004040 00000000 00000000  00000000"
      "00000000 00000000",
      [](BatchWriter& to) {
        for (std::uint32_t i = 1; i <= 3; ++i)
          to.append(Entity{i, 1}, Nudge{.x = static_cast<float>(i), .y = 0, .z = 0});
      });
}

TEST_CASE("golden: a pass, and the same with its cause") {
  check_golden(
      "30000000 c861d4e0 04 00 02 00 01000000"
      "08000000 08000000 00000000 00000000"
      "00000000 0000e03f  00000000 00000000",
      [](BatchWriter& to) { to.append_world(Tick{.dt = 0.5}); });
  check_golden(
      "30000000 c861d4e0 04 01 02 08 01000000"
      "08000000 10000000 00000000 00000000"
      "2a000000 00000000  00000000 0000e03f",
      [](BatchWriter& to) {
        to.set_causes(true);
        to.set_cause(42);
        to.append_world(Tick{.dt = 0.5});
      });
}

TEST_CASE("golden: a payload aligned to 16 lies 16 into its item") {
  check_golden(
      "40000000 2e879917 01 00 02 10 01000000"
      "10000000 20000000 00000000 00000000"
      "05000000 01000000  00000000 00000000"
      "01000000 00000000  02000000 00000000",
      [](BatchWriter& to) { to.append(Entity{5, 1}, Wide{.low = 1, .high = 2}); });
}

TEST_CASE("golden: a subtree batch carries its mask, and causes lie behind targets") {
  check_golden(
      "40000000 c861d4e0 05 01 02 10 01000000"
      "08000000 18000000 06000000 00000000"
      "05000000 01000000  63000000 00000000  00000000 0000f03f"
      "00000000 00000000",
      [](BatchWriter& to) {
        to.set_causes(true);
        to.set_cause(99);
        to.append_subtree(Entity{5, 1}, subtree_self | subtree_descendants, Tick{.dt = 1});
      });
}

TEST_CASE("golden: one payload for three entities") {
  check_golden(
      "50000000 542b8ee6 02 00 02 00 03000000"
      "0c000000 08000000 00000000 00000000"
      "0000803f 00000040 00004040  00000000"
      "01000000 01000000  02000000 01000000"
      "03000000 01000000  00000000 00000000",
      [](BatchWriter& to) {
        to.append_shared(std::vector<Entity>{{1, 1}, {2, 1}, {3, 1}}, Nudge{.x = 1, .y = 2, .z = 3});
      });
}

TEST_CASE("golden: two tables") {
  // As flatc writes {text: "hi"}: root, vtable with one slot, table, string.
  const std::vector<std::byte> table = hex_bytes("0c000000 0000 0600 0800 0400  06000000 04000000  02000000 68690000");
  check_golden(
      "80000000 3423fa5d 03 00 02 10 02000000"
      "00000000 00000000 00000000 00000000"
      "07000000 01000000  1c000000 00000000"
      "0c000000 00000600 08000400 06000000  04000000 02000000 68690000 00000000"
      "00000000 00000000  1c000000 00000000"
      "0c000000 00000600 08000400 06000000  04000000 02000000 68690000 00000000",
      [&](BatchWriter& to) {
        to.append_table(TypeTraits<Say>::id, Entity{7, 1}, table);
        to.append_table(TypeTraits<Say>::id, Entity{}, table);
      });
}

TEST_CASE("golden: a create with two components") {
  check_golden(
      "70000000 8b5dc051 01 02 04 10 01000000"
      "20000000 30000000 00000000 00000000"
      "02000000 00000000  033b5c1f 08000000  0893a884 10000000  00000000 00000000"
      "07000000 01000000  00000000 00000000"
      "03000000 01000000  0000803f 00000000  0000803f 00000040 00004040 00008040",
      [](BatchWriter& to) {
        to.append_rows(Entity{7, 1}, Make{.parent = {3, 1}}, Health{.value = 1}, Matrix{.m = {1, 2, 3, 4}});
      });
}

TEST_CASE("golden: a timed batch holds another whole") {
  check_golden(
      "60000000 c861d4e0 06 00 02 10 01000000"
      "00000000 00000000 40420f00 00000000"
      "0b000000 00000000  00000000 00000000"
      "30000000 c861d4e0 04 00 02 00 01000000"
      "08000000 08000000 00000000 00000000"
      "00000000 0000e03f  00000000 00000000",
      [](BatchWriter& to) {
        BatchBuilder inner;
        inner.append_world(Tick{.dt = 0.5});
        to.append_timed(1000000, 11, inner.front());
      });
}

TEST_CASE("a batch that was copied whole stays byte for byte the same, and is not extended") {
  BatchBuilder one;
  one.append(Entity{1, 1}, Damage{});
  Arena arena;
  arena.append(Entity{2, 1}, Damage{});
  arena.append_batch(one.front());
  arena.append(Entity{3, 1}, Damage{});
  CHECK(arena.batches() == 3);
  arena.pop_front();
  CHECK(hex_text(arena.front().bytes()) == hex_text(one.bytes()));
}

}  // namespace
}  // namespace batch_bytes_test
