// Where the verifier's limits lie exactly, the faults of each part of a batch, tables cut by hand, and values that are mended.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/judge/table_check.h"
#include "messages/judge/verifier.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/test_types.h"

namespace verifier_edges_test {
namespace {

using namespace muster;
using namespace ::test;

std::vector<std::byte> damage(std::uint32_t count = 1) {
  return batch([&](BatchWriter& to) {
    for (std::uint32_t i = 0; i < count; ++i) to.append(Entity{1, 1}, Damage{});
  });
}
std::vector<std::byte> rows() {
  return batch([](BatchWriter& to) { to.append_rows(Entity{1, 1}, Make{}, Lamp{}, Health{}); });
}
std::vector<std::byte> timed() {
  return batch([](BatchWriter& to) {
    BatchBuilder inner;
    inner.append(Entity{1, 1}, Painted{});
    to.append_timed(5, 6, inner.front());
  });
}
std::vector<std::byte> tables(std::uint32_t count, std::uint64_t parts = 0) {
  return batch([&](BatchWriter& to) {
    for (std::uint32_t i = 0; i < count; ++i)
      to.append_table(TypeTraits<Say>::id, Entity{1, 1}, encode(Say{.text = "hi"}), parts);
  });
}
std::vector<std::byte> shared(std::uint32_t targets, bool causes = false) {
  return batch([&](BatchWriter& to) {
    to.set_causes(causes);
    to.append_shared(std::vector<Entity>(targets, Entity{1, 1}), Nudge{.x = 1});
  });
}

template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}
/// The first `length` bytes, whose header says that they are all.
std::vector<std::byte> cut(std::vector<std::byte> bytes, std::size_t length) {
  bytes.resize(length);
  return with(std::move(bytes), 0, static_cast<std::uint32_t>(length));
}

bool good(std::span<const std::byte> bytes, const VerifierLimits& limits = {}) {
  const AlignedBytes copy(bytes);
  return verify_batch(copy.span(), types(), limits).has_value();
}
void check(std::span<const std::byte> bytes, Fault fault, std::size_t offset, std::string_view text,
           const VerifierLimits& limits = {}) {
  const AlignedBytes copy(bytes);
  const auto verdict = verify_batch(copy.span(), types(), limits);
  INFO(text);
  REQUIRE(!verdict.has_value());
  CHECK(std::string(name(verdict.error().fault)) == name(fault));
  CHECK(verdict.error().offset == offset);
  CHECK(verdict.error().text == text);
}

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

}  // namespace

TEST_CASE("a batch exactly as long, with exactly as many messages, as is allowed is taken") {
  CHECK(good(damage(), {.batch_bytes_max = 64}));
  check(damage(), Fault::oversized, 0, "batch declares 64 bytes; at most 63 are allowed", {.batch_bytes_max = 63});
  CHECK(good(damage(8), {.count_max = 8}));
  check(damage(9), Fault::wrong_count, 12, "batch declares 9 messages; at most 8 are allowed", {.count_max = 8});
  CHECK(good(tables(3), {.table_tables_max = 1}));  // each message by itself
}

TEST_CASE("a table holds exactly as many tables as are allowed") {
  const auto of = [](std::size_t words) {
    return batch([&](BatchWriter& to) {
      Say say{.text = "a"};
      say.words.resize(words);
      to.append_table(TypeTraits<Say>::id, Entity{}, encode(say));
    });
  };
  CHECK(good(of(4), {.table_tables_max = 5}));
  const AlignedBytes more(of(5));
  const auto verdict = verify_batch(more.span(), types(), {.table_tables_max = 5});
  REQUIRE_FALSE(verdict);
  CHECK(verdict.error().fault == Fault::bad_table);
  CHECK(verdict.error().field == "words[4]");
  CHECK(verdict.error().text == "test.Say.words[4]: contains more than 5 tables");
}

TEST_CASE("a row set that is cut off or out of order is named") {
  check(cut(rows(), 32), Fault::bad_row_set, 32, "a batch with a row set has at least 48 bytes; this one has 32");
  check(cut(rows(), 48), Fault::truncated, 48, "the row set of 2 components ends at 64; the batch ends at 48");
  const auto in_order = rows();
  u32 first = 0, second = 0;
  std::memcpy(&first, in_order.data() + 40, 4);
  std::memcpy(&second, in_order.data() + 48, 4);
  check(with(with(in_order, 40, second), 48, first), Fault::bad_row_set, 48,
        "row set: " + types().find(first)->name + " is out of order: type ids must ascend");
}

TEST_CASE("a timed batch has room for a header in it, and faults inside are told by their place in the whole") {
  check(cut(timed(), 64), Fault::truncated, 64, "a timed batch has at least 80 bytes; this one has 64");
  const auto whole = timed();
  CHECK(good(whole));
  check(with(whole, 48 + 32 + 8, u8{2}), Fault::bad_bool, 48 + 32 + 8, "test.Painted.on is 2; a bool is 0 or 1");
  check(with(whole, 48 + 12, u32{0}), Fault::wrong_count, 48 + 12, "batch declares no messages");
  CHECK(good(with(whole, 24, u64{12345})));  // when it is due
}

TEST_CASE("tables that end early, too many or too few are named with their number") {
  const auto two = tables(2);
  CHECK(good(two));
  const std::size_t one = tables(1).size() - 32;
  u32 length = 0;
  std::memcpy(&length, two.data() + 40, 4);
  check(with(two, 12, u32{3}), Fault::truncated, two.size(),
        "table 2 of 3 begins at " + std::to_string(two.size()) + "; the batch ends at " + std::to_string(two.size()));
  check(with(two, 12, u32{1}), Fault::wrong_count, 12,
        "1 tables need a batch of " + std::to_string(32 + one) + " bytes; the batch declares " +
            std::to_string(two.size()));
  check(with(two, 32 + one + 8, u32{9999}), Fault::truncated, 32 + one + 8,
        "table 1 declares 9999 bytes; " + std::to_string(one - 16) + " are left in the batch");
  check(with(two, 32 + one + 12, u8{1}), Fault::nonzero_padding, 32 + one + 12,
        "the word after a table's length is not zero");
  if (length % 16 != 0)
    check(with(two, 48 + length, u8{1}), Fault::nonzero_padding, 48 + length, "the padding after a table is not zero");
  CHECK(good(tables(1, 7)));
  check(with(tables(1), 24, u64{8}), Fault::bad_argument, 24, "argument 8 is not a mask of subtree parts (1 to 7)");
}

TEST_CASE("padding of a shared payload, of targets and of causes is zero") {
  CHECK(good(shared(3)));
  check(with(shared(3), 32 + 12, u8{1}), Fault::nonzero_padding, 32 + 12, "the padding after the payload is not zero");
  check(with(shared(3), 32 + 15, u8{1}), Fault::nonzero_padding, 32 + 15, "the padding after the payload is not zero");
  check(with(shared(3), 32 + 16 + 24, u8{1}), Fault::nonzero_padding, 32 + 16 + 24,
        "the padding after the last target is not zero");
  check(with(shared(2, true), 32 + 8, u8{1}), Fault::nonzero_padding, 32 + 8,
        "the padding after the cause is not zero");
  check(with(shared(3), 12, u32{5}), Fault::wrong_count, 12,
        "5 messages need a batch of 96 bytes; the batch declares 80");
  const auto wide = batch([](BatchWriter& to) { to.append(Entity{1, 1}, Wide{}); });
  for (std::size_t at = 40; at < 48; ++at)
    check(with(wide, at, u8{1}), Fault::nonzero_padding, at, "the padding before a payload is not zero");
}

TEST_CASE("a value of another size than its type's is refused") {
  const std::vector<std::byte> bytes(17);
  const TypeDescriptor& type = *types().find("test.Damage");
  CHECK(verify_value(std::span(bytes).first(16), type, types()));
  for (const std::size_t size : {15u, 17u}) {
    const auto verdict = verify_value(std::span(bytes).first(size), type, types());
    REQUIRE_FALSE(verdict);
    CHECK(verdict.error().fault == Fault::wrong_size);
    CHECK(verdict.error().text == "a value of test.Damage has 16 bytes, not " + std::to_string(size));
  }
}

TEST_CASE("every way in which a table may lead out of itself is told with offsets") {
  // root at 0 | vtable at 4: 6 bytes, table of 8, depth at 4 | 2 bytes of nothing | table at 12: 8 back, depth
  std::vector<std::byte> whole(20);
  const auto put = [](std::vector<std::byte> to, std::size_t at, auto value) { return with(std::move(to), at, value); };
  whole = put(put(put(whole, 0, u32{12}), 4, u16{6}), 6, u16{8});
  whole = put(put(put(whole, 8, u16{4}), 12, std::int32_t{8}), 16, 1.0f);
  const auto fault = [&](std::span<const std::byte> bytes) {
    const AlignedBytes copy(bytes);
    const auto found = check_table(copy.span(), *types().find("test.Measured"), types(), {}, {});
    return found ? std::to_string(found->offset) + " " + found->text : "";
  };
  CHECK(fault(whole).empty());
  CHECK(fault(std::span(whole).first(7)) == "0 test.Measured: a table has at least 8 bytes; this one has 7");
  CHECK(fault(put(whole, 0, u32{0})) ==
        "0 test.Measured: offset at 0 points 0 bytes forward, outside the table's 20 bytes");
  CHECK(fault(put(whole, 0, u32{20})) ==
        "0 test.Measured: offset at 0 points 20 bytes forward, outside the table's 20 bytes");
  CHECK(fault(put(whole, 0, u32{19})) == "19 test.Measured: table at 19 is not aligned to 4");
  CHECK(fault(put(whole, 12, std::int32_t{13})) == "12 test.Measured: its vtable lies before the buffer");
  CHECK(fault(put(whole, 12, std::int32_t{9})) == "3 test.Measured: vtable at 3 is not aligned to 2");
  CHECK(fault(put(whole, 12, std::int32_t{-6})) ==
        "18 test.Measured: vtable at 18 with 4 bytes extends past the table's 20 bytes");
  for (const u16 size : {u16{2}, u16{5}})
    CHECK(fault(put(whole, 4, size)) ==
          "4 test.Measured: a vtable of " + std::to_string(size) + " bytes: expected an even number, at least 4");
  CHECK(fault(put(whole, 4, u16{4})).empty());  // no fields
  CHECK(fault(put(whole, 4, u16{18})) ==
        "4 test.Measured: vtable at 4 with 18 bytes extends past the table's 20 bytes");
  CHECK(fault(put(whole, 6, u16{3})) == "6 test.Measured: a table of 3 bytes: expected at least 4");
  CHECK(fault(put(whole, 6, u16{9})) == "12 test.Measured: table at 12 with 9 bytes extends past the table's 20 bytes");
  CHECK(fault(put(whole, 6, u16{4})) == "16 test.Measured.depth: is at 4 with 4 bytes; the table has 4");
  CHECK(fault(put(whole, 8, u16{3})) == "15 test.Measured.depth: is at 3 with 4 bytes; the table has 8");
  CHECK(fault(put(whole, 8, u16{5})) == "17 test.Measured.depth: is at 5 with 4 bytes; the table has 8");
  CHECK(fault(put(whole, 8, u16{0})).empty());
}

TEST_CASE("values that a type does not have are mended one by one, and told") {
  const TypeDescriptor& type = *types().find("test.Painted");
  Painted painted{};
  painted.color = Color::green;
  std::vector<std::byte> bytes(sizeof painted);
  std::memcpy(bytes.data(), &painted, sizeof painted);
  Mended none;
  mend_value(bytes, type, types(), none);
  CHECK(none.count == 0);
  CHECK(std::memcmp(bytes.data(), &painted, sizeof painted) == 0);

  constexpr std::size_t slot = offsetof(Painted, slots) + sizeof(Slot);
  bytes[0] = std::byte{7};
  bytes[offsetof(Painted, color)] = std::byte{9};
  bytes[offsetof(Painted, wings)] = std::byte{5};
  const std::int32_t step = -9;
  std::memcpy(bytes.data() + offsetof(Painted, steps) + 4, &step, 4);
  bytes[slot + offsetof(Slot, full) + 2] = std::byte{3};
  Mended mended{.listed_max = 4};
  mend_value(bytes, type, types(), mended, 1000);
  CHECK(mended.count == 5);
  REQUIRE(mended.listed.size() == 4);
  std::string told;
  for (const MendedValue& each : mended.listed)
    told += std::to_string(each.offset) + " " + each.type + "." + each.field + " " + each.found + " " + each.put + "\n";
  CHECK(told == "1000 test.Painted.on 7 1\n" + std::to_string(1000 + offsetof(Painted, color)) +
                    " test.Painted.color 9 0\n" + std::to_string(1000 + offsetof(Painted, wings)) +
                    " test.Painted.wings 5 1\n" + std::to_string(1000 + offsetof(Painted, steps) + 4) +
                    " test.Painted.steps[1] -9 0\n");
  painted.on = true;
  painted.color = Color::red;
  painted.wings = Wings::left;
  CHECK(std::memcmp(bytes.data(), &painted, sizeof painted) == 0);
  CHECK(verify_value(bytes, type, types()));
  Mended again;
  mend_value(bytes, type, types(), again);
  CHECK(again.count == 0);
}

TEST_CASE("what is mended in a batch leaves a batch that is taken, and other faults stay faults") {
  const auto mend = [](std::vector<std::byte> bytes, Mended& mended) {
    const AlignedBytes copy(bytes);
    AlignedBytes own(copy.span());
    const auto verdict = mend_batch(own.span(), types(), {}, mended);
    return std::pair(verdict ? std::string() : verdict.error().text,
                     std::vector<std::byte>(own.span().begin(), own.span().end()));
  };
  const auto rowed = batch([](BatchWriter& to) { to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}); });
  const std::size_t lamp = rowed.size() - 16;
  Mended mended;
  const auto [text, bytes] = mend(with(rowed, lamp, u8{4}), mended);
  CHECK(text.empty());
  CHECK((bytes == rowed));
  REQUIRE(mended.listed.size() == 1);
  CHECK(mended.listed[0].type == "test.Lamp");
  CHECK(mended.listed[0].field == "lit");
  CHECK(mended.listed[0].offset == lamp);

  const auto said = batch([](BatchWriter& to) {
    Say say{.text = "hi"};
    say.loud = true;
    say.color = Color::blue;
    say.lamps = {Lamp{.lit = true, .color = Color::green}};
    to.append_table(TypeTraits<Say>::id, Entity{1, 1}, encode(say));
  });
  Mended all;
  std::vector<std::byte> broken = said;
  std::size_t changed = 0;
  for (std::size_t at = 48; at + 1 < broken.size(); ++at)
    if (const std::vector<std::byte> tried = with(said, at, u8{77}); !good(tried)) {
      Mended one;
      const auto [why, made] = mend(tried, one);
      if (!why.empty()) continue;
      CHECK(one.count == 1);
      CHECK(good(made));
      ++changed;
    }
  CHECK(changed == 4);  // loud, color, and both of the lamp
  CHECK(mend(with(damage(), 12, u32{0}), all).first == "batch declares no messages");
  CHECK(all.count == 0);
}

}  // namespace verifier_edges_test
