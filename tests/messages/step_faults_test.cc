// The batches in a Step are verified as if each had come by itself, and a fault names the batch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/judge/verifier.h"
#include "messages/step_batches.h"
#include "tests/messages/hex.h"
#include "tests/messages/one_batch.h"
#include "tests/messages/test_types.h"

namespace step_faults_test {
namespace {

using namespace muster;
using ::test::AlignedBytes, ::test::Damage, ::test::Health, ::test::Lamp, ::test::Make, ::test::Painted, ::test::types;

/// The bytes of a batch with a Step, and the place of its nested batches.
struct Whole {
  std::vector<std::byte> bytes;
  std::size_t begin = 0;
};

Whole whole(std::span<const std::byte> nested) {
  BatchBuilder to;
  to.append_table(TypeTraits<muster::Step>::id, {}, encode(muster::Step{.batches = step_bytes(nested)}));
  Whole made{{to.bytes().begin(), to.bytes().end()}, 0};
  const TableItem item = table_item(to.front(), to.front().body());
  const auto found = std::as_bytes(StepView::from(item.table).batches());
  made.begin = static_cast<std::size_t>(found.data() - to.bytes().data());
  return made;
}

/// A batch with a Damage of 48 bytes or more, and one with rows.
std::vector<std::byte> nested() {
  BatchBuilder to;
  to.append(Entity{1, 1}, Damage{});
  to.append_rows(Entity{1, 1}, Make{}, Lamp{.lit = true}, Health{});
  return {to.bytes().begin(), to.bytes().end()};
}

template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

void refused(std::span<const std::byte> nested, Fault fault, std::size_t offset, const std::string& text,
             const VerifierLimits& limits = {}) {
  INFO(text);
  const Whole made = whole(nested);
  const AlignedBytes copy(made.bytes);
  const auto verdict = verify_batch(copy.span(), types(), limits);
  REQUIRE_FALSE(verdict.has_value());
  CHECK(std::string(name(verdict.error().fault)) == name(fault));
  CHECK(verdict.error().offset == made.begin + offset);
  CHECK(verdict.error().text == text);
}

}  // namespace

TEST_CASE("a Step with good batches is accepted and read, wherever the table has put them") {
  const std::vector<std::byte> good = nested();
  for (std::size_t letters = 0; letters < 16; ++letters) {
    BatchBuilder to;
    const muster::Step step{.batches = step_bytes(good), .label = std::string(letters, 'x'), .gesture = letters};
    to.append_table(TypeTraits<muster::Step>::id, {}, encode(step));
    REQUIRE(verify_batch(to.bytes(), types()).has_value());
    const TableItem item = table_item(to.front(), to.front().body());
    const StepBatches batches(item.table);
    CHECK(std::ranges::equal(batches.bytes(), good));
    std::size_t count = 0;
    batches.for_each([&](const BatchView& batch) { count += batch.count(); });
    CHECK(count == 2);
  }
}

TEST_CASE("a fault in a Step names the batch and its place, and has the offset of the faulty byte") {
  const std::vector<std::byte> good = nested();
  std::uint32_t first;
  std::memcpy(&first, good.data(), 4);
  const std::string second = "batch 1 of the Step, at byte " + std::to_string(first) + ": ";
  refused(with(good, 8, std::uint8_t{9}), Fault::unknown_kind, 8,
          "batch 0 of the Step, at byte 0: batch kind 9 is unknown");
  refused(with(good, first + 4, 77u), Fault::unknown_type, first + 4, second + "message type id 77 is unknown");
  refused(with(good, first + 12, 0u), Fault::wrong_count, first + 12, second + "batch declares no messages");
  refused(with(good, first, 40u), Fault::misaligned, first,
          second + "batch declares 40 bytes, which is not a multiple of 16");
  refused(with(good, first, 0u), Fault::truncated, first + 1,
          second + "a batch has at least 32 bytes; the frame holds 1");
  refused(std::span(good).first(first + 16), Fault::truncated, first + 16,
          second + "a batch has at least 32 bytes; the frame holds 16");
  refused(std::span(good).first(good.size() - 16), Fault::truncated, first,
          second + "batch declares " + std::to_string(good.size() - first) + " bytes; the frame holds " +
              std::to_string(good.size() - first - 16));
  refused(with(good, 0, 1u << 30), Fault::oversized, 0,
          "batch 0 of the Step, at byte 0: batch declares 1073741824 bytes; at most 16777216 are allowed");
}

TEST_CASE("a Step without batches, with a Step, or with a timed batch is refused") {
  const Whole empty = whole({});
  const AlignedBytes copy(empty.bytes);
  const auto verdict = verify_batch(copy.span(), types());
  REQUIRE_FALSE(verdict.has_value());
  CHECK(verdict.error().fault == Fault::wrong_count);
  CHECK(verdict.error().text == "a Step holds no batches");

  std::vector<std::byte> bytes = nested();
  const std::size_t first = bytes.size();
  const Whole inner = whole(nested());
  bytes.insert(bytes.end(), inner.bytes.begin(), inner.bytes.end());
  const std::string second = "batch 2 of the Step, at byte " + std::to_string(first) + ": ";
  refused(bytes, Fault::nested_step, first + 4, second + "a Step holds another Step");

  BatchBuilder timed, damage;
  damage.append(Entity{1, 1}, Damage{});
  timed.append_timed(5, 0, damage.front());
  refused(timed.bytes(), Fault::nested_timer, 8, "batch 0 of the Step, at byte 0: a Step holds a timed batch");
}

TEST_CASE("values in a Step are checked, and mended, like those in a batch by itself") {
  BatchBuilder to;
  Painted painted;
  painted.on = true;
  to.append(Entity{1, 1}, Damage{});
  to.append(Entity{1, 1}, painted);
  std::vector<std::byte> bad(to.bytes().begin(), to.bytes().end());
  std::uint32_t first;
  std::memcpy(&first, bad.data(), 4);
  const std::size_t on = first + 32 + 8 + offsetof(Painted, on);
  bad[on] = std::byte{7};
  refused(bad, Fault::bad_bool, on,
          "batch 1 of the Step, at byte " + std::to_string(first) + ": test.Painted.on is 7; a bool is 0 or 1");
  Whole made = whole(bad);
  AlignedBytes copy(made.bytes);
  Mended mended;
  REQUIRE(mend_batch(copy.span(), types(), {}, mended).has_value());
  REQUIRE(mended.count == 1);
  CHECK(mended.listed[0].offset == made.begin + on);
  CHECK(copy.span()[made.begin + on] == std::byte{1});
  CHECK(verify_batch(copy.span(), types()).has_value());

  const float infinite = std::numeric_limits<float>::infinity();
  BatchBuilder floats;
  floats.append(Entity{1, 1}, Damage{.amount = infinite});
  const Whole said = whole(floats.bytes());
  const AlignedBytes bytes(said.bytes);
  CHECK(verify_batch(bytes.span(), types()).has_value());
  const auto strict = verify_batch(bytes.span(), types(), {.values = true});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().fault == Fault::not_finite);
  CHECK(strict.error().offset == said.begin + 40);
  CHECK(strict.error().field == "amount");
}

}  // namespace step_faults_test
