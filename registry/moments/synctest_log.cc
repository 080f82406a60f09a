#include "registry/moments/synctest_log.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "registry/handlers/ask_ahead.h"
#include "registry/handlers/item_loops.h"
#include "registry/handlers/turn.h"
#include "registry/moments/manager_hashes.h"

namespace muster {
namespace {

std::uint64_t row_in_group(const Chunk& chunk) noexcept {
  if (chunk.place == 0) return 0;
  return chunk_capacity(*chunk.archetype, 0) + std::uint64_t{chunk.place - 1} * chunk_capacity(*chunk.archetype, 1);
}

/// Hashes the components that a call may write. Returns a sum over rows, so that the order and the
/// division into calls do not matter.
std::uint64_t sum_of(const Handler& handler, const Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                     const std::uint16_t* columns, bool also_read) {
  std::uint64_t sum = 0;
  const std::uint64_t first = row_in_group(chunk);
  std::size_t column = 0;
  for (const Term& term : handler.terms) {
    if (term.source != Source::self || !term.value) continue;
    const std::uint16_t slot = columns[column++];
    if (slot == no_column || slot >= chunk.archetype->pod_slots) continue;
    if (term.access != Access::write && !also_read) continue;
    const std::size_t size = chunk.archetype->slot_bytes[slot];
    for (std::uint32_t row = begin; row < end; ++row)
      sum += XXH3_64bits_withSeed(chunk.slots()[slot].data + row * size, size, (first + row) * 64 + column);
  }
  return sum;
}

// Limits on the bytes of managers that are hashed after calls.
constexpr std::size_t thorough_bytes = std::size_t{256} << 20, brief_bytes = std::size_t{1} << 20;

}  // namespace

Synctest::Impl::Log::Log(EntityRegistry& registry, std::uint32_t number, Depth depth, CallProbe* inner)
    : fresh(number),
      registry_(registry),
      inner_(inner),
      is_thorough_(depth == Depth::thorough),
      managers_left_(registry.impl_->managers.empty() ? 0
                     : is_thorough_                   ? thorough_bytes
                                                      : brief_bytes) {}

bool Synctest::Impl::Log::rows(RunRows own, RunContext& context, const Handler& handler, void* message, Chunk& chunk,
                               std::uint32_t begin, std::uint32_t end, const std::uint16_t* columns) {
  HandlerCall call = begin_call(handler);
  const std::size_t bytes = changed_bytes(handler);
  const auto look = [&] {
    return (columns ? sum_of(handler, chunk, begin, end, columns, is_thorough_) : 0) +
           (bytes ? XXH3_64bits(message, bytes) : 0);
  };
  if (is_thorough_) call.found = look();
  // As the call does, which would leave its own traces on the stack.
  if (columns) touch_written(context.storage, handler, chunk, columns);
  const BatchWriter::Written before = context.outbox.arena_.written();
  const FloatMode mode = float_mode();
  bool consumed = false;
  if (inner_) {
    consumed = inner_->rows(own, context, handler, message, chunk, begin, end, columns);
  } else {
    fresh.before_call();
    fresh.fill_stack();
    consumed = own(context, handler, message, chunk, begin, end, columns);
  }
  call.wrote = look() + consumed;
  end_call(call, context, before, mode);
  return consumed;
}

ItemCounts Synctest::Impl::Log::items(RunItems own, RunContext& context, const Handler& handler, const ItemRun& run) {
  HandlerCall call = begin_call(handler);
  const std::size_t bytes = changed_bytes(handler);
  const auto look = [&] {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::byte* const item = run.first + std::size_t{i} * run.bytes;
      const Row row = context.storage.find(detail::target_of(item));
      const std::uint16_t* const columns = row ? handler.columns(*row.chunk->archetype) : nullptr;
      if (!columns) continue;
      sum += sum_of(handler, *row.chunk, row.row, row.row + 1, columns, is_thorough_);
      if (bytes) sum += XXH3_64bits(item + run.offset, bytes);
    }
    return sum;
  };
  if (is_thorough_) call.found = look();
  const BatchWriter::Written before = context.outbox.arena_.written();
  const FloatMode mode = float_mode();
  ItemCounts counts;
  if (inner_) {
    counts = inner_->items(own, context, handler, run);
  } else {
    fresh.before_call();
    fresh.fill_stack();
    counts = own(context, handler, run);
  }
  call.wrote = look();
  end_call(call, context, before, mode);
  return counts;
}

HandlerCall Synctest::Impl::Log::begin_call(const Handler& handler) const {
  return {.handler = &handler, .sequence = registry_.core_.state.sequence.get(), .by_worker = turn_here() != nullptr};
}

void Synctest::Impl::Log::end_call(HandlerCall& call, const RunContext& context, const BatchWriter::Written& before,
                                   const FloatMode& mode) {
  const FloatMode left = float_mode();
  if (left != mode) set_float_mode(mode);
  const BatchWriter::Written after = context.outbox.arena_.written();
  call.knows_posts = before.memory_end == after.memory_end;
  if (call.knows_posts && after.at != before.at)
    call.posted = XXH3_64bits(before.at, static_cast<std::size_t>(after.at - before.at));
  if (!call.by_worker && managers_left_ > 0) {
    call.managers = hash_of_managers();
    call.knows_managers = true;
  }
  const MutexLock lock(mutex_);
  if (left != mode && !left_mode) left_mode = LeftMode{call.handler, float_mode_text(left, mode)};
  // Such a handler is called once only, and may only read.
  if (!call.handler->options.skip_when_repeated) calls.push_back(call);
}

std::size_t Synctest::Impl::Log::changed_bytes(const Handler& handler) {
  if (!handler.writes_message) return 0;
  const TypeDescriptor* const type = registry_.core_.types.table().find(handler.message);
  return type && !type->is_table ? type->size : 0;
}

std::uint64_t Synctest::Impl::Log::hash_of_managers() {
  // No handler runs now, so a manager may read the registry while it saves its state.
  Shown<Inside>& inside = registry_.core_.inside;
  const Inside before = inside;
  inside = Inside::nobody;
  const ManagerHashes managers(registry_.impl_->managers);
  inside = before;
  managers_left_ -= std::min(managers_left_, managers.bytes);
  return managers.all;
}

// --- comparing ---

namespace {

using Calls = std::span<const HandlerCall>;
using First = std::optional<FirstCall>;

/// Takes the calls of the next input from both spans.
std::pair<Calls, Calls> take_input(Calls& one, Calls& other) {
  const std::uint64_t end = ~std::uint64_t{0};
  const std::uint64_t sequence =
      std::min(one.empty() ? end : one.front().sequence, other.empty() ? end : other.front().sequence);
  const auto take = [&](Calls& from) {
    const auto behind = std::ranges::find_if(from, [&](const HandlerCall& call) { return call.sequence != sequence; });
    const auto count = static_cast<std::size_t>(behind - from.begin());
    const Calls taken = from.first(count);
    from = from.subspan(count);
    return taken;
  };
  const Calls of_one = take(one), of_other = take(other);
  return {of_one, of_other};
}

/// Takes calls of one handler that follow each other, and returns them as one. Inputs may be
/// delivered message by message, or many messages at once.
HandlerCall take_calls(Calls& from) {
  HandlerCall sum = from.front();
  std::size_t count = 1;
  for (; count < from.size() && from[count].handler == sum.handler; ++count) {
    const HandlerCall& next = from[count];
    sum.found += next.found;
    sum.wrote += next.wrote;
    sum.posted += next.posted;
    sum.managers = next.managers;
    sum.knows_posts = sum.knows_posts && next.knows_posts;
    sum.knows_managers = next.knows_managers;
  }
  from = from.subspan(count);
  return sum;
}

First first_in_order(Calls one, Calls other) {
  while (!one.empty() && !other.empty()) {
    const HandlerCall a = take_calls(one), b = take_calls(other);
    // One of them was not called, for example because of its on_begin.
    if (a.handler->ordinal != b.handler->ordinal) return FirstCall{a.handler->options.on_begin ? a.handler : b.handler};
    if (a.found != b.found) return FirstCall{a.handler, true};
    if (a.wrote != b.wrote || (a.knows_posts && b.knows_posts && a.posted != b.posted) ||
        (a.knows_managers && b.knows_managers && a.managers != b.managers))
      return FirstCall{a.handler};
  }
  if (one.empty() && other.empty()) return std::nullopt;
  return FirstCall{(one.empty() ? other : one).front().handler};
}

/// Compares what each handler wrote in all its calls. The order is that of the calls in `serial`.
First first_sum(Calls serial, Calls spread) {
  const auto sums = [](Calls calls) {
    std::map<std::uint64_t, std::uint64_t> all;
    for (const HandlerCall& call : calls) all[call.handler->ordinal] += call.wrote;
    return all;
  };
  const auto one = sums(serial), other = sums(spread);
  for (const HandlerCall& call : serial) {
    const auto at = other.find(call.handler->ordinal);
    if (at == other.end() || at->second != one.at(call.handler->ordinal)) return FirstCall{call.handler};
  }
  for (const HandlerCall& call : spread)
    if (!one.contains(call.handler->ordinal)) return FirstCall{call.handler};
  return std::nullopt;
}

bool is_spread(Calls calls) {
  return std::ranges::any_of(calls, [](const HandlerCall& call) { return call.by_worker; });
}

}  // namespace

std::optional<FirstCall> Synctest::Impl::first_differing(const Log& one, const Log& other) {
  Calls left(one.calls), right(other.calls);
  while (!left.empty() || !right.empty()) {
    const auto [a, b] = take_input(left, right);
    // The calls of workers have no order.
    if (const First found = is_spread(a) ? first_sum(b, a) : is_spread(b) ? first_sum(a, b) : first_in_order(a, b))
      return found;
  }
  return std::nullopt;
}

}  // namespace muster
