#include "messages/batch_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "messages/must.h"

namespace muster {
namespace {

template <class T>
void store(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

std::size_t up_to_16(std::size_t bytes) noexcept { return (bytes + 15) & ~std::size_t{15}; }

constexpr std::uint64_t all_parts = subtree_ancestors | subtree_self | subtree_descendants;

}  // namespace

/// Begins a batch with room for `body` bytes behind its header; write_ is then where the body begins.
void BatchWriter::start(const Run& run, std::uint64_t parts, std::uint64_t argument, std::uint32_t count,
                        std::span<const RowSetEntry> rows, std::size_t body) {
  seal();
  const std::size_t bytes = run.header_bytes + up_to_16(body);
  must(bytes <= batch_bytes_max, "a batch would be larger than 1 GiB");
  if (static_cast<std::size_t>(end_ - write_) < bytes) make_room(bytes);
  open_ = write_;
  open_key_ = run.key(parts);
  limit_ = open_ + std::min(static_cast<std::size_t>(end_ - open_), std::max(bytes, batch_bytes_));
  // In words, not by fields: what was stored in small pieces is slow to read as a whole.
  const std::array<std::uint64_t, 4> words{
      std::uint64_t{run.type} << 32,
      std::uint64_t{static_cast<std::uint8_t>(run.kind)} | (std::uint64_t{run.flags} << 8) |
          (std::uint64_t{run.header_bytes / 16} << 16) | (std::uint64_t{run.payload_offset} << 24) |
          (std::uint64_t{count} << 32),
      std::uint64_t{run.payload_bytes} | (std::uint64_t{run.item_bytes} << 32), argument};
  std::memcpy(open_, words.data(), sizeof words);
  if ((run.flags & batch_rows) != 0) {
    std::byte* const set = open_ + sizeof(BatchHeader);
    store(set, std::uint64_t{rows.size()});
    if (!rows.empty()) std::memcpy(set + 8, rows.data(), rows.size_bytes());
    if (rows.size() % 2 == 0) store(set + 8 + rows.size_bytes(), std::uint64_t{0});
  }
  write_ = open_ + run.header_bytes;
}

void BatchWriter::finish_header() const noexcept {
  auto& header = *reinterpret_cast<BatchHeader*>(open_);
  const std::byte* const body = open_ + std::size_t{header.header_units} * 16;
  const auto used = static_cast<std::uint32_t>(write_ - body);
  // Items of one length are counted by their bytes; the other kinds keep their count themselves.
  if (header.item_bytes != 0 && header.kind != BatchKind::shared)
    header.count = used == header.item_bytes ? 1 : used / header.item_bytes;
  const auto bytes = static_cast<std::uint32_t>(open_bytes());
  const auto written = static_cast<std::uint32_t>(write_ - open_);
  if (written != bytes) std::memset(write_, 0, bytes - written);
  header.bytes = bytes;
}

void BatchWriter::close() noexcept {
  finish_header();
  const std::size_t bytes = open_bytes();
  write_ = open_ + bytes;
  open_key_ = 0;
  open_ = nullptr;
  sealed_bytes_ += bytes;
  ++sealed_batches_;
}

/// Sees to it that the open batch is one of `run` with room for another item.
void BatchWriter::next_item(const Run& run, std::uint64_t parts, std::span<const RowSetEntry> rows) {
  if (open_key_ == run.key(parts)) {
    const BatchView open(open_);
    const auto have = open.row_set();
    const bool same_rows =
        have.size() == rows.size() && (rows.empty() || std::memcmp(have.data(), rows.data(), rows.size_bytes()) == 0);
    if (same_rows) {
      must(open.header().payload_bytes == run.payload_bytes, "one message type was given with two sizes");
      if (room() >= run.item_bytes || grow_open(run.item_bytes)) return;
    }
  }
  must(parts <= all_parts, "unknown bits in a mask of SubtreeParts");
  start(run, parts, parts, 0, rows, run.item_bytes);
}

std::byte* BatchWriter::rows_item(PayloadShape shape, Entity target, std::span<const RowSetEntry> rows) {
  const Run run(BatchKind::each, shape, causes_, true, rows.size());
  next_item(run, 0, rows);
  std::byte* const payload = take(run, target);
  std::memset(payload, 0, run.payload_bytes);
  return payload;
}

std::byte* BatchWriter::shared_item(PayloadShape shape, std::span<const Entity> targets,
                                    std::span<const RowSetEntry> rows, bool has_rows) {
  if (targets.empty()) return nullptr;
  must(targets.size() <= batch_bytes_max / 8, "a shared message has too many targets");
  const Run run(BatchKind::shared, shape, causes_, has_rows, rows.size());
  const std::size_t head = run.payload_offset + up_to_16(shape.bytes);
  start(run, 0, 0, static_cast<std::uint32_t>(targets.size()), rows, head + targets.size_bytes());
  std::byte* const at = write_;
  std::memset(at, 0, head);
  if (causes_) store(at, cause_);
  std::memcpy(at + head, targets.data(), targets.size_bytes());
  write_ = at + head + targets.size_bytes();
  seal();
  return at + run.payload_offset;
}

void BatchWriter::append_table(TypeId type, Entity target, std::span<const std::byte> table, std::uint64_t parts) {
  must(parts <= all_parts, "unknown bits in a mask of SubtreeParts");
  must(table.size() <= batch_bytes_max, "a table is larger than 1 GiB");
  const Run run(BatchKind::table, type, causes_);
  const std::size_t offset = run.payload_offset;
  const std::size_t bytes = offset + up_to_16(table.size());
  if (open_key_ != run.key(parts) || (room() < bytes && !grow_open(bytes))) start(run, parts, parts, 0, {}, bytes);
  ++reinterpret_cast<BatchHeader*>(open_)->count;
  std::byte* const at = write_;
  write_ = at + bytes;
  std::memset(at, 0, offset);
  store(at, target);
  store(at + 8, static_cast<std::uint32_t>(table.size()));
  if (causes_) store(at + 16, cause_);
  if (!table.empty()) std::memcpy(at + offset, table.data(), table.size());
  std::memset(at + offset + table.size(), 0, bytes - offset - table.size());
}

void BatchWriter::append_timed(std::uint64_t due, std::uint64_t timer, BatchView inner) {
  must(inner.kind() != BatchKind::timed, "a timed batch inside a timed batch");
  const std::span<const std::byte> bytes = inner.bytes();
  start(Run(BatchKind::timed, inner.type(), false), 0, due, 1, {}, 16 + bytes.size());
  store(write_, timer);
  store(write_ + 8, std::uint64_t{0});
  std::memcpy(write_ + 16, bytes.data(), bytes.size());
  write_ += 16 + bytes.size();
  seal();
}

void BatchWriter::append_batch(BatchView batch) {
  seal();
  const std::span<const std::byte> bytes = batch.bytes();
  if (static_cast<std::size_t>(end_ - write_) < bytes.size()) make_room(bytes.size());
  std::memcpy(write_, bytes.data(), bytes.size());
  write_ += bytes.size();
  sealed_bytes_ += bytes.size();
  ++sealed_batches_;
}

void BatchWriter::swap_state(BatchWriter& other) noexcept {
  std::swap(write_, other.write_);
  std::swap(limit_, other.limit_);
  std::swap(end_, other.end_);
  std::swap(batch_bytes_, other.batch_bytes_);
  std::swap(sealed_bytes_, other.sealed_bytes_);
  std::swap(sealed_batches_, other.sealed_batches_);
  std::swap(open_, other.open_);
  std::swap(open_key_, other.open_key_);
  std::swap(causes_, other.causes_);
  std::swap(cause_, other.cause_);
}

}  // namespace muster
