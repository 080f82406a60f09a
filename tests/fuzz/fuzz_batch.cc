// verify_batch judges any bytes; what it accepts can be read, and made again with the same bytes.
#include <algorithm>
#include <cstdint>
#include <span>

#include "messages/judge/verifier.h"
#include "tests/messages/hex.h"
#include "tests/messages/rebuild.h"

namespace {

const muster::TypeTable& types() {
  static muster::TypeTable table;
  static const bool added = table.add<test::Damage>().has_value();
  if (!added) __builtin_trap();
  return table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::AlignedBytes bytes(std::as_bytes(std::span(data, size)));
  const auto verdict = muster::verify_batch(bytes.span(), types());
  const auto strict = muster::verify_batch(bytes.span(), types(), {.values = true});
  if (strict ? !verdict : verdict && !muster::is_about_a_value(strict.error().fault)) __builtin_trap();
  if (!verdict) {
    if (verdict.error().text.empty() || verdict.error().offset > size) __builtin_trap();
    return 0;
  }
  const muster::BatchView batch = verdict->kind() == muster::BatchKind::timed ? verdict->inner() : *verdict;
  test::read_through(batch);
  const auto again = test::rebuilt(batch, types());
  if (!std::ranges::equal(again, batch.bytes())) __builtin_trap();
  return 0;
}
