// One test per Fault: one byte or word of a good batch is made wrong, and the verdict must say what, where and in which words.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/test_types.h"

namespace verifier_faults_test {
namespace {

using namespace muster;
using namespace ::test;

std::vector<std::byte> damage() {
  return batch([](BatchWriter& to) { to.append(Entity{1, 1}, Damage{}); });
}
std::vector<std::byte> painted() {
  return batch([](BatchWriter& to) { to.append(Entity{1, 1}, Painted{}); });
}
std::vector<std::byte> rows() {
  return batch([](BatchWriter& to) { to.append_rows(Entity{1, 1}, Make{}, Lamp{}, Health{}); });
}
std::vector<std::byte> timed() {
  return batch([](BatchWriter& to) {
    BatchBuilder inner;
    inner.append(Entity{1, 1}, Damage{});
    to.append_timed(5, 6, inner.front());
  });
}
std::vector<std::byte> table() {
  return batch([](BatchWriter& to) {
    Say say;
    say.text = "hi";
    to.append_table(TypeTraits<Say>::id, Entity{}, encode(say));
  });
}

template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

BatchFault judge(std::span<const std::byte> bytes, const VerifierLimits& limits = {}) {
  const AlignedBytes copy(bytes);
  const auto verdict = verify_batch(copy.span(), types(), limits);
  REQUIRE(!verdict.has_value());
  return verdict.error();
}
void check(const BatchFault& found, Fault fault, std::size_t offset, std::string_view text) {
  CHECK(std::string(name(found.fault)) == name(fault));
  CHECK(found.offset == offset);
  CHECK(found.text == text);
}

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST_CASE("truncated: fewer bytes than a header, or than the header says") {
  const auto short_batch = damage();
  check(judge(std::span<const std::byte>(short_batch).first(16)), Fault::truncated, 16,
        "a batch has at least 32 bytes; the frame holds 16");
  check(judge(with(damage(), 0, u32{80})), Fault::truncated, 0, "batch declares 80 bytes; the frame holds 64");
}

TEST_CASE("misaligned: in memory, or a length that is no multiple of 16") {
  check(judge(with(damage(), 0, u32{63})), Fault::misaligned, 0,
        "batch declares 63 bytes, which is not a multiple of 16");
  std::vector<std::byte> longer(8);
  const auto good = damage();
  longer.insert(longer.end(), good.begin(), good.end());
  const AlignedBytes copy(longer);
  const auto verdict = verify_batch(copy.span().subspan(8), types());
  REQUIRE(!verdict.has_value());
  check(verdict.error(), Fault::misaligned, 0, "the batch does not begin on a 16-byte boundary");
}

TEST_CASE("oversized: more than this receiver takes") {
  check(judge(damage(), {.batch_bytes_max = 48}), Fault::oversized, 0,
        "batch declares 64 bytes; at most 48 are allowed");
}

TEST_CASE("unknown_kind, and nested_timer where a timed batch holds another") {
  check(judge(with(damage(), 8, u8{0})), Fault::unknown_kind, 8, "batch kind 0 is unknown");
  check(judge(with(damage(), 8, u8{7})), Fault::unknown_kind, 8, "batch kind 7 is unknown");
  check(judge(with(timed(), 48 + 8, u8{6})), Fault::nested_timer, 48 + 8, "a timed batch holds another timed batch");
}

TEST_CASE("unknown_flag: bits that this kind does not know") {
  check(judge(with(damage(), 9, u8{4})), Fault::unknown_flag, 9, "batch flags are 4; this kind supports 3");
  check(judge(with(timed(), 9, u8{1})), Fault::unknown_flag, 9, "batch flags are 1; this kind supports 0");
}

TEST_CASE("unknown_type, and wrong_role of one that is known") {
  check(judge(with(damage(), 4, u32{1})), Fault::unknown_type, 4, "message type id 1 is unknown");
  check(judge(with(damage(), 4, TypeTraits<Health>::id)), Fault::wrong_role, 4,
        "test.Health is not a message struct, so it cannot be sent in a batch of this kind");
  check(judge(with(table(), 4, TypeTraits<Damage>::id)), Fault::wrong_role, 4,
        "test.Damage is not a message table, so it cannot be sent in a batch of this kind");
  check(judge(with(timed(), 4, TypeTraits<Nudge>::id)), Fault::wrong_role, 4,
        "a timed batch of test.Nudge holds a batch of test.Damage");
}

TEST_CASE("wrong_size: of the header, the payload, the items") {
  check(judge(with(damage(), 10, u8{3})), Fault::wrong_size, 10,
        "batch header declares 3 units of 16 bytes; without a row set it has 2");
  check(judge(with(damage(), 16, u32{20})), Fault::wrong_size, 16,
        "payload of test.Damage declares 20 bytes, expected 16");
  check(judge(with(damage(), 20, u32{32})), Fault::wrong_size, 20, "items declare 32 bytes, expected 24");
  check(judge(with(damage(), 0, u32{48})), Fault::wrong_size, 0, "batch declares 48 bytes; the frame holds 64");
}

TEST_CASE("wrong_count: none, too many, or not what the length holds") {
  check(judge(with(damage(), 12, u32{0})), Fault::wrong_count, 12, "batch declares no messages");
  check(judge(with(damage(), 12, u32{9}), {.count_max = 8}), Fault::wrong_count, 12,
        "batch declares 9 messages; at most 8 are allowed");
  check(judge(with(damage(), 12, u32{3})), Fault::wrong_count, 12,
        "3 messages need a batch of 112 bytes; the batch declares 64");
  check(judge(with(timed(), 12, u32{2})), Fault::wrong_count, 12, "a timed batch holds one batch; this one declares 2");
}

TEST_CASE("wrong_offset: of the payload in its item") {
  check(judge(with(damage(), 11, u8{16})), Fault::wrong_offset, 11, "payload offset is 16, expected 8");
}

TEST_CASE("nonzero_padding: behind items, inside structs, behind row sets") {
  check(judge(with(damage(), 32 + 24 + 3, u8{1})), Fault::nonzero_padding, 32 + 24 + 3,
        "the padding after the last item is not zero");
  check(judge(with(timed(), 44, u8{1})), Fault::nonzero_padding, 44, "the word after the timer's id is not zero");
  const std::size_t gap = 32 + 8 + offsetof(Painted, slots) + 2;  // between full and at.x
  const BatchFault found = judge(with(painted(), gap, u8{9}));
  check(found, Fault::nonzero_padding, gap, "test.Painted: the padding after slots[0].full is 9, expected 0");
  CHECK(found.type == TypeTraits<Painted>::id);
  CHECK(found.field == "slots[0].full");
  check(judge(with(rows(), 36, u8{1})), Fault::nonzero_padding, 36, "the word after the row set's count is not zero");
  // With two components eight bytes of the set are padding.
  for (std::size_t at = 56; at < 64; ++at)
    check(judge(with(rows(), at, u8{1})), Fault::nonzero_padding, at, "the padding after the row set is not zero");
  const auto caused = batch([](BatchWriter& to) {
    to.set_causes(true);
    to.append_table(TypeTraits<Say>::id, Entity{1, 1}, encode(Say{}));
  });
  for (std::size_t at = 32 + 24; at < 32 + 32; ++at)
    check(judge(with(caused, at, u8{1})), Fault::nonzero_padding, at, "the padding after the cause is not zero");
}

TEST_CASE("nonzero_padding: every byte between the components of a row set, and behind a payload without rules") {
  std::size_t gaps = 0;
  for (const auto& good :
       {batch([](BatchWriter& to) { to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Matrix{}, Health{}); }),
        batch([](BatchWriter& to) { to.append_rows(Entity{1, 1}, Make{}, Lamp{}, Tag64{.bits = 1}); })}) {
    const BatchView view(good.data());
    const auto payload = static_cast<std::size_t>(view.payload(0) - good.data());
    std::size_t end = sizeof(Make);
    for (const RowSetEntry& entry : view.row_set()) {
      for (; end < entry.offset; ++end, ++gaps)
        check(judge(with(good, payload + end, u8{1})), Fault::nonzero_padding,
              static_cast<std::uint32_t>(payload + end), "the padding between two components is not zero");
      end = entry.offset + types().find(entry.type)->size;
    }
  }
  CHECK(gaps > 0);
  const auto nudges = batch([](BatchWriter& to) {
    to.append(Entity{1, 1}, Nudge{.x = 1});
    to.append(Entity{2, 1}, Nudge{.x = 1});
  });
  const BatchView view(nudges.data());
  for (std::uint32_t i = 0; i < 2; ++i)
    for (std::size_t byte = sizeof(Nudge); byte < 16; ++byte) {
      const auto at = static_cast<std::size_t>(view.payload(i) - nudges.data()) + byte;
      check(judge(with(nudges, at, u8{1})), Fault::nonzero_padding, static_cast<std::uint32_t>(at),
            "the padding after a payload is not zero");
    }
}

TEST_CASE("bad_table: a text whose last zero lies behind its table") {
  unsigned tried = 0;
  for (std::size_t letters = 1; letters <= 32; ++letters) {
    Say say;
    say.text.assign(letters, 'x');
    const std::vector<std::byte> whole = encode(say);
    const auto at = std::ranges::search(whole, std::vector<std::byte>(letters, std::byte{'x'}));
    REQUIRE(at);
    const auto length = static_cast<u32>(at.end() - whole.begin());
    if ((length + 15) / 16 != (whole.size() + 15) / 16) continue;  // else the batch ends too late
    CAPTURE(letters);
    const auto good =
        batch([&](BatchWriter& to) { to.append_table(TypeTraits<Say>::id, Entity{1, 1}, std::span(whole)); });
    const BatchFault found = judge(with(good, 40, length));
    CHECK(found.fault == Fault::bad_table);
    CHECK_THAT(found.text, Catch::Contains("extends past the table's " + std::to_string(length)));
    const AlignedBytes exact(with(good, 40, length + 1));
    CHECK(verify_batch(exact.span(), types()).has_value());
    ++tried;
  }
  CHECK(tried > 10);
}

TEST_CASE("an empty vector of 8-byte elements may lie at a multiple of 4: no element is misaligned") {
  const auto good = batch([](BatchWriter& to) {
    Say say;
    say.text = "hi";
    say.numbers = {0, 0};
    to.append_table(TypeTraits<Say>::id, Entity{}, encode(say));
  });
  const auto read = [&]<class T>(std::size_t at, T value) {
    std::memcpy(&value, good.data() + at, sizeof value);
    return value;
  };
  const std::size_t begin = 48;  // of the FlatBuffer
  const std::size_t table = begin + read(begin, u32{});
  const std::size_t vtable = table - static_cast<std::size_t>(read(table, std::int32_t{}));
  const auto numbers =
      std::ranges::find(types().find("test.Say")->fields, std::string("numbers"), &FieldDescriptor::name);
  const std::size_t field = table + read(vtable + numbers->slot, std::uint16_t{});
  const std::size_t vector = field + read(field, u32{});
  REQUIRE(read(vector, u32{}) == 2);
  REQUIRE((vector + 4) % 8 == 0);
  // Its elements' first four bytes are taken for a vector: of no element, and with room for none.
  const AlignedBytes empty(with(good, field, static_cast<u32>(vector + 4 - field)));
  CHECK(verify_batch(empty.span(), types()).has_value());
  const auto one = with(good, field, static_cast<u32>(vector + 4 - field));
  const BatchFault found = judge(with(one, vector + 4, u32{1}));
  CHECK(found.fault == Fault::bad_table);
  CHECK_THAT(found.text, Catch::Contains("is not aligned to 8"));
}

TEST_CASE("bad_bool and bad_enum name the field") {
  const std::size_t payload = 32 + 8;
  BatchFault found = judge(with(painted(), payload, u8{2}));
  check(found, Fault::bad_bool, payload, "test.Painted.on is 2; a bool is 0 or 1");
  CHECK(found.field == "on");
  check(judge(with(painted(), payload + offsetof(Painted, color), u8{3})), Fault::bad_enum,
        payload + offsetof(Painted, color), "test.Painted.color is 3, which is not a value of test.Color");
  check(judge(with(painted(), payload + offsetof(Painted, wings), std::uint16_t{4})), Fault::bad_enum,
        payload + offsetof(Painted, wings), "test.Painted.wings is 4, which has bits that are not in test.Wings");
  found = judge(with(painted(), payload + offsetof(Painted, steps) + 4, std::int32_t{-2}));
  check(found, Fault::bad_enum, payload + offsetof(Painted, steps) + 4,
        "test.Painted.steps[1] is -2, which is not a value of test.Step");
  CHECK(found.field == "steps[1]");
}

TEST_CASE("bad_table: an offset that leads out of it") {
  const auto good = table();
  u32 length;
  std::memcpy(&length, good.data() + 40, 4);
  check(judge(with(good, 48, u32{9999})), Fault::bad_table, 48,
        "test.Say: offset at 0 points 9999 bytes forward, outside the table's " + std::to_string(length) + " bytes");
}

TEST_CASE("bad_table: a field that ends behind its table, by however little, and none that ends with it") {
  const auto good = batch([](BatchWriter& to) {
    Say say;
    say.text = "hi";
    say.loud = true;
    say.color = Color::blue;
    say.numbers = {1};
    say.words.emplace_back();
    say.names = {"a"};
    say.lamps.emplace_back();
    say.lamp = Lamp{.lit = true};
    say.to = Entity{1, 1};
    say.inner = std::make_unique<Say>();
    say.inner->text = "in";
    to.append_table(TypeTraits<Say>::id, Entity{}, encode(say));
  });
  const std::size_t begin = 48;  // of the FlatBuffer
  const auto read16 = [&](std::size_t at) {
    std::uint16_t value;
    std::memcpy(&value, good.data() + at, sizeof value);
    return value;
  };
  u32 root;
  std::memcpy(&root, good.data() + begin, sizeof root);
  const std::size_t at = begin + root;
  std::int32_t back;
  std::memcpy(&back, good.data() + at, sizeof back);
  const std::size_t vtable = at - static_cast<std::size_t>(back);
  unsigned tried = 0, furthest = 0;
  for (const FieldDescriptor& field : types().find(TypeTraits<Say>::id)->fields) {
    const unsigned place = read16(vtable + field.slot);
    const unsigned bytes = field.kind == FieldKind::structure ? types().find(field.type)->size
                           : field.kind == FieldKind::entity  ? 8
                           : field.kind == FieldKind::boolean || field.kind == FieldKind::uint8 ? 1
                                                                                                : 4;
    CAPTURE(field.name, place, bytes);
    REQUIRE(place >= 4);
    furthest = std::max(furthest, place + bytes);
    for (unsigned past = 1; past <= 4 && place + bytes - past >= 4; ++past) {
      CAPTURE(past);
      // The table ends that much earlier.
      const auto small = static_cast<std::uint16_t>(place + bytes - past);
      BatchFault found = judge(with(good, vtable + 2, small));
      CHECK(found.fault == Fault::bad_table);
      CHECK(found.text.find("bytes; the table has " + std::to_string(small)) != std::string::npos);
      // The field lies that much later, in a table that ends with it otherwise.
      const auto end = static_cast<std::uint16_t>(place + bytes);
      auto moved = with(good, vtable + 2, end);
      found = judge(with(moved, vtable + field.slot, static_cast<std::uint16_t>(place + past)));
      CHECK(found.fault == Fault::bad_table);
      CHECK(found.text.find("bytes; the table has " + std::to_string(end)) != std::string::npos);
      ++tried;
    }
  }
  CHECK(tried >= 30);
  const AlignedBytes exact(with(good, vtable + 2, static_cast<std::uint16_t>(furthest)));
  CHECK(verify_batch(exact.span(), types()).has_value());
}

TEST_CASE("bad_table: tables nested exactly as deep as allowed are taken, one deeper is refused") {
  const auto nested = [](std::uint32_t tables) {
    Say say{.text = "innermost"};
    for (std::uint32_t i = 1; i < tables; ++i) {
      Say outer{.text = "outer"};
      outer.inner = std::make_unique<Say>(std::move(say));
      say = std::move(outer);
    }
    return batch([&](BatchWriter& to) { to.append_table(TypeTraits<Say>::id, Entity{}, encode(say)); });
  };
  for (const std::uint32_t most : {1u, 3u, VerifierLimits{}.table_depth_max}) {
    CAPTURE(most);
    VerifierLimits limits;
    limits.table_depth_max = most;
    const AlignedBytes good(nested(most));
    CHECK(verify_batch(good.span(), types(), limits).has_value());
    const BatchFault found = judge(nested(most + 1), limits);
    CHECK(found.fault == Fault::bad_table);
    CHECK(found.text.find("tables are nested deeper than " + std::to_string(most)) != std::string::npos);
  }
}

TEST_CASE("bad_row_set: unknown, not a component, twice, out of order, misplaced") {
  const auto good = rows();  // entries at 40 and 48
  u32 first, second;
  std::memcpy(&first, good.data() + 40, 4);
  std::memcpy(&second, good.data() + 48, 4);
  const std::string first_name = types().find(first)->name, second_name = types().find(second)->name;
  check(judge(with(good, 40, u32{1})), Fault::bad_row_set, 40, "row set: component type id 1 is unknown");
  check(judge(with(good, 40, TypeTraits<Damage>::id)), Fault::bad_row_set, 40,
        "row set: test.Damage is not a component");
  check(judge(with(good, 44, u32{9})), Fault::bad_row_set, 44, "row set: " + first_name + " is at 9, expected 8");
  check(judge(with(good, 48, first)), Fault::bad_row_set, 48, "row set: " + first_name + " is listed twice");
  check(judge(with(good, 32, u32{506})), Fault::bad_row_set, 32,
        "row set declares 506 components; at most 505 are allowed");
  check(judge(with(good, 32, u32{4})), Fault::bad_row_set, 10,
        "batch header declares 4 units of 16 bytes; with 4 components it has 5");
}

TEST_CASE("bad_argument: where there is none, and of a mask") {
  check(judge(with(damage(), 24, u64{1})), Fault::bad_argument, 24, "argument is 1; this kind takes none: expected 0");
  const auto subtree = batch([](BatchWriter& to) { to.append_subtree(Entity{1, 1}, subtree_self, Nudge{}); });
  for (const u64 mask : {u64{0}, u64{8}})
    check(judge(with(subtree, 24, mask)), Fault::bad_argument, 24,
          "argument " + std::to_string(mask) + " is not a mask of subtree parts (1 to 7)");
}

TEST_CASE("every fault has a name of its own") {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Fault::nested_timer); ++i) names.insert(name(static_cast<Fault>(i)));
  CHECK(names.size() == static_cast<std::size_t>(Fault::nested_timer) + 1);
  CHECK(!names.contains("unknown"));
}

}  // namespace
}  // namespace verifier_faults_test
