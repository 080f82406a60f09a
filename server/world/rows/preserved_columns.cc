#include "server/world/rows/preserved_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

namespace muster {
namespace {

/// Copies a column. One without bytes, such as that of a tag, may have no address.
void copy_column(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size != 0) std::memcpy(to, from, size);
}

}  // namespace

std::uint32_t PreservedColumns::add(std::uint64_t chunk_uid, std::uint32_t column, std::span<const std::byte> bytes) {
  const auto number = static_cast<std::uint32_t>(columns_.size());
  if (columns_.empty() || columns_.back().chunk_uid != chunk_uid) add_first(chunk_uid, number);
  columns_.push_back({.at = bytes.data(),
                      .copy = nullptr,
                      .chunk_uid = chunk_uid,
                      .column = column,
                      .size = static_cast<std::uint32_t>(bytes.size())});
  return number;
}

void PreservedColumns::clear() {
  give_back();
  for (Column& column : columns_)
    if (column.copy) spare_.give(std::move(column.copy), column.size);
  spare_.settle();
  columns_.clear();
  std::ranges::fill(first_, 0);
  chunks_ = 0;
  bytes_ = 0;
  copied_ = 0;
  given_up_ = false;
}

std::size_t PreservedColumns::place_of(std::uint64_t chunk_uid) const noexcept {
  const std::size_t mask = first_.size() - 1;
  std::size_t at = (chunk_uid * 0x9e3779b97f4a7c15ull) >> (64 - std::countr_zero(first_.size()));
  while (first_[at] != 0 && columns_[first_[at] - 1].chunk_uid != chunk_uid) at = (at + 1) & mask;
  return at;
}

void PreservedColumns::add_first(std::uint64_t chunk_uid, std::uint32_t number) {
  constexpr std::size_t least = 16;
  if (++chunks_ * 2 > first_.size()) {
    std::vector<std::uint32_t> old(std::max(least, first_.size() * 2));
    old.swap(first_);
    for (const std::uint32_t one : old)
      if (one != 0) first_[place_of(columns_[one - 1].chunk_uid)] = one;
  }
  first_[place_of(chunk_uid)] = number + 1;
}

std::optional<std::uint32_t> PreservedColumns::first_of(std::uint64_t chunk_uid) const noexcept {
  if (first_.empty()) return std::nullopt;
  const std::uint32_t found = first_[place_of(chunk_uid)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

bool PreservedColumns::claim(Column& column) noexcept {
  const std::atomic_ref<State> state(column.state);
  for (;;) {
    State was = State::waits;
    if (state.compare_exchange_weak(was, State::is_read, std::memory_order_acquire)) return true;
    if (was == State::is_kept || was == State::is_over) return false;
    if (was == State::is_read) std::this_thread::yield();  // the other thread is copying a few KiB
  }
}

void PreservedColumns::keep(Column& column) {
  if (!claim(column)) return;
  // If memory runs out, the save is abandoned, but the world continues, and no thread waits forever
  // for a column that is being read.
  if (!given_up() && bytes() + column.size <= bytes_max_) column.copy = spare_.take(column.size);
  State now = State::is_over;
  if (column.copy) {
    copy_column(column.copy.get(), column.at, column.size);
    bytes_.fetch_add(column.size, std::memory_order_relaxed);
    copied_.fetch_add(column.size, std::memory_order_relaxed);
    now = State::is_kept;
  } else {
    given_up_.store(true, std::memory_order_release);
  }
  std::atomic_ref(column.state).store(now, std::memory_order_release);
}

void PreservedColumns::before_write(const Chunk& chunk, std::uint32_t slot) {
  const auto first = first_of(chunk.uid);
  if (!first) return;
  const std::uint32_t id = slot < column_first ? slot : chunk.archetype->slot_types[slot]->id;
  for (std::size_t i = *first; i < columns_.size() && columns_[i].chunk_uid == chunk.uid; ++i)
    if (columns_[i].column == id) return keep(columns_[i]);
}

void PreservedColumns::before_recycle(const Chunk& chunk) {
  const auto first = first_of(chunk.uid);
  if (!first) return;
  for (std::size_t i = *first; i < columns_.size() && columns_[i].chunk_uid == chunk.uid; ++i) keep(columns_[i]);
}

void PreservedColumns::give_back() {
  if (given_) spare_.give(std::move(given_), given_size_);
}

std::optional<std::span<const std::byte>> PreservedColumns::take(std::uint32_t number) {
  Column& column = columns_[number];
  const std::atomic_ref<State> state(column.state);
  give_back();
  if (claim(column)) {
    taken_.resize(column.size);
    copy_column(taken_.data(), column.at, column.size);
    state.store(State::is_over, std::memory_order_release);
    return taken_;
  }
  if (state.load(std::memory_order_acquire) != State::is_kept) return std::nullopt;
  given_ = std::move(column.copy);
  given_size_ = column.size;
  bytes_.fetch_sub(column.size, std::memory_order_relaxed);
  state.store(State::is_over, std::memory_order_release);
  return std::span<const std::byte>(given_.get(), column.size);
}

bool PreservedColumns::take(std::uint32_t number, std::byte* to) {
  Column& column = columns_[number];
  const std::atomic_ref<State> state(column.state);
  if (claim(column)) {
    copy_column(to, column.at, column.size);
    state.store(State::is_over, std::memory_order_release);
    return true;
  }
  if (state.load(std::memory_order_acquire) != State::is_kept) return false;
  copy_column(to, column.copy.get(), column.size);
  spare_.give(std::move(column.copy), column.size);
  bytes_.fetch_sub(column.size, std::memory_order_relaxed);
  state.store(State::is_over, std::memory_order_release);
  return true;
}

}  // namespace muster
