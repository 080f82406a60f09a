#include "registry/history/step_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "messages/require.h"
#include "schema/table.h"

namespace muster::history {

namespace {

constexpr std::size_t padding_room = 16;  // for the writer's padding after end_
constexpr std::size_t item_head = payload_offset_for(BatchKind::table, false, 16);

void put_size(std::byte* at, std::size_t bytes) noexcept {
  const auto size = static_cast<std::uint32_t>(bytes);
  std::memcpy(at, &size, sizeof size);
}

}  // namespace

StepWriter::~StepWriter() { ::operator delete(memory_); }

void StepWriter::begin_step(std::string_view label, StepAct act, std::uint64_t of) {
  require(memory_ == nullptr, "StepWriter: a Step begins before its batches");
  std::vector<std::byte> table;
  TableScratch scratch;
  TableEncoder to(table, scratch);
  // The slots of Step in schema/muster.fbs. Its batches come last and are empty for now. They are
  // aligned, so that they can be delivered from here.
  to.open(0, 5);
  if (of != 0) to.field<std::uint64_t>(12, of);
  const auto batches = to.offset(4, true), name = to.offset(6, !label.empty());
  if (act != StepAct::edit) to.field<StepAct>(10, act);
  to.close();
  to.string(name, label);
  to.vector_bytes(batches, {}, 0, batch_alignment);
  append_table(TypeTraits<muster::Step>::id, {}, table);
  seal();
  head_ = static_cast<std::size_t>(write_ - memory_);
}

StepWriter::Items StepWriter::append_like_last(std::size_t count) noexcept {
  BatchHeader header;
  std::memcpy(&header, open_, sizeof header);
  const std::size_t room = static_cast<std::size_t>(limit_ - write_) / header.item_bytes;
  const Items items{write_, static_cast<std::uint32_t>(std::min(count, room)), header.item_bytes};
  write_ += std::size_t{items.count} * items.bytes;
  return items;
}

std::span<const std::byte> StepWriter::step() noexcept {
  seal();
  const auto bytes = static_cast<std::size_t>(write_ - memory_);
  require(bytes <= batch_bytes_max, "an undo is larger than 1 GiB");
  put_size(memory_ + offsetof(BatchHeader, bytes), bytes);
  put_size(memory_ + sizeof(BatchHeader) + sizeof(Entity), bytes - sizeof(BatchHeader) - item_head);
  put_size(memory_ + head_ - sizeof(std::uint32_t), bytes - head_);
  return {memory_, bytes};
}

bool StepWriter::grow_open(std::size_t bytes) {
  if (static_cast<std::size_t>(write_ - open_) + bytes > batch_bytes_) return false;
  reserve(bytes);
  limit_ = open_ + std::min(static_cast<std::size_t>(end_ - open_), batch_bytes_);
  return true;
}

void StepWriter::reserve(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(write_ - memory_);
  const std::size_t needed = (used + 15 + bytes) & ~std::size_t{15};
  if (needed <= capacity_) return;
  const std::size_t capacity = std::max<std::size_t>({needed, capacity_ * 2, 1024 - padding_room});
  auto* const memory = static_cast<std::byte*>(::operator new(capacity + padding_room));
  if (used != 0) std::memcpy(memory, memory_, used);
  move_open(memory - memory_);
  write_ = memory + used;
  end_ = memory + capacity;
  ::operator delete(memory_);
  memory_ = memory;
  capacity_ = capacity;
}

}  // namespace muster::history
