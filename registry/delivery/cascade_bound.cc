#include "registry/delivery/cascade_bound.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "registry/handlers/builtin_messages.h"
#include "schema/muster.h"

namespace muster {
namespace {

std::uint64_t messages_in(const BatchView& batch) noexcept { return counts_once(batch) ? 1 : batch.count(); }

/// Returns a + b, or the largest number if the sum is larger.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept { return a + std::min(b, ~a); }

/// Returns how many of the batch's first messages have at most this many payload bytes.
std::uint64_t fitting(const BatchView& batch, std::uint64_t bytes) noexcept {
  switch (batch.kind()) {
    case BatchKind::timed:
    case BatchKind::shared: return payload_bytes(batch, 0, 1, 0) <= bytes ? 1 : 0;
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < batch.count(); ++i) {
        const TableItem item = table_item(batch, at);
        if (item.table.size() > bytes) return i;
        bytes -= item.table.size();
        at = item.next;
      }
      return batch.count();
    }
    default: {
      const std::uint32_t each = batch.header().payload_bytes;
      return each == 0 ? batch.count() : std::min<std::uint64_t>(batch.count(), bytes / each);
    }
  }
}

/// Returns a batch of the first `count` messages of a batch that is not counted as a single one.
std::vector<std::byte> first_of(const BatchView& batch, std::uint32_t count) {
  const std::byte* end = batch.body();
  if (batch.kind() == BatchKind::table)
    for (std::uint32_t i = 0; i < count; ++i) end = table_item(batch, end).next;
  else
    end = batch.item(count);
  const auto used = static_cast<std::uint32_t>(end - batch.bytes().data());
  std::vector<std::byte> made(batch.bytes().data(), end);
  made.resize(round_up(used, batch_alignment));
  BatchHeader header = batch.header();
  header.bytes = static_cast<std::uint32_t>(made.size());
  header.count = count;
  std::memcpy(made.data(), &header, sizeof header);
  return made;
}

}  // namespace

std::uint64_t payload_bytes(const BatchView& batch, std::uint64_t begin, std::uint64_t end,
                            std::size_t offset) noexcept {
  switch (batch.kind()) {
    case BatchKind::timed: return batch.inner().bytes().size();
    case BatchKind::shared: return batch.header().payload_bytes;
    case BatchKind::table: {
      std::uint64_t sum = 0;
      const std::byte* at = batch.body() + offset;
      for (; begin < end; ++begin) {
        const TableItem item = table_item(batch, at);
        sum += item.table.size();
        at = item.next;
      }
      return sum;
    }
    default: return (end - begin) * batch.header().payload_bytes;
  }
}

void CascadeBound::uncount(const BatchView& front) noexcept {
  messages_ -= messages_in(front);
  bytes_ -= payload_bytes(front, 0, front.count(), 0);
  if (--counted_ == 0) messages_ = bytes_ = 0;
}

std::uint64_t CascadeBound::hold_large() {
  Arena& cascade = state_.cascade;
  if (cascade.empty()) return forget(), 0;
  const BatchView front = cascade.front();
  const std::uint32_t delivered = state_.cursor.message;
  const CascadeBounds& most = state_.bounds;
  const std::uint64_t messages_max = sum(most.carried_messages_max, delivered);
  const std::uint64_t bytes_max = sum(most.carried_bytes_max, payload_bytes(front, 0, delivered, 0));
  // Returns how many messages of the batch may stay.
  const auto room = [&](const BatchView& batch) {
    return std::min({messages_in(batch), messages_max - messages_, fitting(batch, bytes_max - bytes_)});
  };
  bool all = true;
  if (counted_ == 0) end_ = {};
  end_ = cascade.visit_sealed(end_, [&](const BatchView& batch) {
    all = room(batch) == messages_in(batch);
    if (!all) return false;
    ++counted_;
    messages_ += messages_in(batch);
    bytes_ += payload_bytes(batch, 0, batch.count(), 0);
    return true;
  });
  if (all && (!cascade.last_is_open() || room(cascade.open_batch()) == messages_in(cascade.open_batch()))) return 0;
  cascade.seal();
  std::vector<std::byte> kept;
  std::uint64_t dropped = 0;
  bool first = true;
  (void)cascade.visit_sealed(end_, [&](const BatchView& batch) {
    const auto stays = first ? static_cast<std::uint32_t>(room(batch)) : 0;
    if (stays > 0) kept = first_of(batch, stays);
    first = false;
    lose(batch, stays, dropped);
    return true;
  });
  cascade.keep(counted_, end_);
  if (counted_ == 0 && !kept.empty() && BatchView(kept).count() == delivered) {
    kept.clear();  // the rest of the front batch was dropped
    state_.cursor = {};
  }
  if (!kept.empty()) cascade.append_batch(BatchView(std::span<const std::byte>(kept)));
  append_requests();
  structure_.give_up_reserved(made_);
  made_.clear();
  state_.counters.dropped += dropped;
  return dropped;
}

void CascadeBound::drop(bool delivering) {
  Arena& cascade = state_.cascade;
  cascade.seal();
  forget();
  std::uint64_t dropped = 0;
  std::uint32_t delivered = delivering ? 0 : state_.cursor.message;
  std::size_t kept = delivering ? 1 : 0;
  Arena::Place end;
  if (kept != 0) {
    bool passed = false;
    end = cascade.visit_sealed({}, [&](const BatchView&) { return !std::exchange(passed, true); });
  }
  (void)cascade.visit_sealed(end, [&](const BatchView& batch) {
    lose(batch, std::exchange(delivered, 0), dropped);
    return true;
  });
  cascade.keep(kept, end);
  if (!delivering) state_.cursor = {};
  cascade.trim();
  append_requests();
  structure_.give_up_reserved(made_);
  made_.clear();
  state_.counters.dropped += dropped;
}

void CascadeBound::lose(const BatchView& batch, std::uint32_t from, std::uint64_t& messages) {
  if (batch.type() == TypeTraits<HandlerRequest>::id && batch.kind() == BatchKind::world) {
    for (; from < batch.count(); ++from) {
      HandlerRequest request;
      std::memcpy(&request, batch.payload(from), sizeof request);
      requests_.append_world(request);
    }
    return;
  }
  if (messages == 0) first_dropped_ = batch.type();
  if (counts_once(batch)) {
    if (from != 0) return;
    messages += 1;
    return add_made(batch, made_);
  }
  messages += batch.count() - from;
  const std::size_t before = made_.size();
  add_made(batch, made_);
  const auto first = made_.begin() + static_cast<std::ptrdiff_t>(before);
  if (first != made_.end()) made_.erase(first, first + static_cast<std::ptrdiff_t>(from));
}

void CascadeBound::append_requests() {
  requests_.for_each([&](const BatchView& batch) { state_.cascade.append_batch(batch); });
  requests_.clear();
}

}  // namespace muster
