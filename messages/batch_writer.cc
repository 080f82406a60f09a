#include "messages/batch_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "messages/require.h"

namespace muster {
namespace {

template <class T>
void store(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

/// Writes the row set after a batch's header.
void put_rows(std::byte* batch, std::span<const RowSetEntry> rows) noexcept {
  std::byte* const set = batch + sizeof(BatchHeader);
  store(set, std::uint64_t{rows.size()});
  if (!rows.empty()) std::memcpy(set + 8, rows.data(), rows.size_bytes());
  if (rows.size() % 2 == 0) store(set + 8 + rows.size_bytes(), std::uint64_t{0});
}

constexpr std::uint64_t all_parts = subtree_ancestors | subtree_self | subtree_descendants;

}  // namespace

[[gnu::always_inline]] inline std::byte* BatchWriter::start(const Run& run, std::uint64_t parts, std::size_t body) {
  // Read and write each member only once. Each store and reload takes five cycles, and every batch
  // depends on the value of write_ from the previous one.
  std::byte* at = write_;
  if (open_ != nullptr) at = finish_header(at);
  const std::size_t bytes = run.header_bytes() + up_to_16(body);
  if (static_cast<std::size_t>(end_ - at) < bytes) [[unlikely]] {
    require(bytes <= batch_bytes_max, "a batch would be larger than 1 GiB");
    write_ = at;
    open_ = nullptr;
    open_key_ = 0;
    make_room(bytes);
    at = write_;
  }
  std::memcpy(at, &run.header, sizeof run.header);
  std::byte* const begin = at + run.header_bytes();
  open_ = at;
  open_key_ = run.key(parts);
  limit_ = at + std::min(static_cast<std::size_t>(end_ - at), std::max(bytes, batch_bytes_));
  body_ = begin;
  reciprocal_ = run.reciprocal;
  open_count_ = 0;
  ++batches_;
  return begin;
}

std::byte* BatchWriter::first_item(const Run& run) {
  std::byte* at = write_;
  if (open_ != nullptr) [[likely]]
    at = finish_header(at);
  const std::uint32_t item_bytes = run.item_bytes();
  const std::size_t room = std::min(static_cast<std::size_t>(end_ - at), batch_bytes_);
  if (room < sizeof(BatchHeader) + 16 + item_bytes) [[unlikely]] {
    seal();
    return next_item(run, 0);
  }
  begin_at(run, at, room);
  return body_;
}

std::byte* BatchWriter::next_item(const Run& run, std::uint64_t parts) {
  const std::uint32_t bytes = run.item_bytes();
  std::byte* at;
  if (open_key_ == run.key(parts) && (room() >= bytes || grow_open(bytes))) {
    at = write_;
  } else {
    at = start(run, parts, bytes);
    if (parts != 0) {
      require(parts <= all_parts, "unknown bits in a SubtreeParts mask");
      store(open_ + offsetof(BatchHeader, argument), parts);
    }
  }
  write_ = at + bytes;
  return at;
}

std::byte* BatchWriter::next_item(const Run& run, std::span<const RowSetEntry> rows) {
  const std::uint32_t bytes = run.item_bytes();
  std::byte* at = nullptr;
  if (open_key_ == run.key() && open_rows_are(rows)) {
    require(open_header().payload_bytes == run.header.payload_bytes, "one message type was passed with two sizes");
    if (room() >= bytes || grow_open(bytes)) at = write_;
  }
  if (at == nullptr) {
    at = start(run, 0, bytes);
    put_rows(open_, rows);
  }
  write_ = at + bytes;
  return at;
}

std::byte* BatchWriter::rows_item(PayloadShape shape, Entity target, std::span<const RowSetEntry> rows) {
  const std::uint64_t key =
      Run::key_of(shape.type, BatchKind::each, static_cast<std::uint8_t>(batch_rows | (causes_ ? batch_causes : 0)), 0);
  std::byte* at = write_;
  if (open_key_ == key && open_header().payload_bytes == shape.bytes && room() >= open_header().item_bytes &&
      open_rows_are(rows))
    write_ = at + open_header().item_bytes;
  else
    at = next_item(Run(BatchKind::each, shape, causes_, true, rows.size()), rows);
  std::byte* const payload = fill<BatchKind::each>(at, target);
  std::memset(payload, 0, shape.bytes);
  return payload;
}

std::byte* BatchWriter::shared_item(PayloadShape shape, std::span<const Entity> targets,
                                    std::span<const RowSetEntry> rows, bool has_rows) {
  if (targets.empty()) return nullptr;
  Entity* to = nullptr;
  std::byte* const payload = begin_shared(shape, targets.size(), rows, has_rows, to);
  std::memcpy(to, targets.data(), targets.size_bytes());
  return payload;
}

std::byte* BatchWriter::begin_shared(PayloadShape shape, std::size_t count, std::span<const RowSetEntry> rows,
                                     bool has_rows, Entity*& targets) {
  require(count <= batch_bytes_max / 8, "a shared message has too many targets");
  const Run run(BatchKind::shared, shape, causes_, has_rows, rows.size());
  const std::size_t head = run.payload_offset() + up_to_16(shape.bytes);
  std::byte* const at = start(run, 0, head + count * sizeof(Entity));
  if (has_rows) put_rows(open_, rows);
  open_count_ = static_cast<std::uint32_t>(count);
  std::memset(at, 0, head);
  if (causes_) store(at, cause_);
  targets = reinterpret_cast<Entity*>(at + head);
  write_ = at + head + count * sizeof(Entity);
  seal();
  return at + run.payload_offset();
}

void BatchWriter::append_table(TypeId type, Entity target, std::span<const std::byte> table, std::uint64_t parts) {
  require(parts <= all_parts, "unknown bits in a SubtreeParts mask");
  require(table.size() <= batch_bytes_max, "a table is larger than 1 GiB");
  const Run run(BatchKind::table, type, causes_);
  const std::size_t offset = run.payload_offset();
  const std::size_t bytes = offset + up_to_16(table.size());
  if (open_key_ != run.key(parts) || (room() < bytes && !grow_open(bytes))) {
    write_ = start(run, parts, bytes);
    store(open_ + offsetof(BatchHeader, argument), parts);
  }
  ++open_count_;
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
  require(inner.kind() != BatchKind::timed, "a timed batch cannot hold another timed batch");
  const std::span<const std::byte> bytes = inner.bytes();
  write_ = start(Run(BatchKind::timed, inner.type(), false), 0, 16 + bytes.size());
  store(open_ + offsetof(BatchHeader, argument), due);
  open_count_ = 1;
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
  ++batches_;
}

void BatchWriter::append_messages(BatchView batch) {
  const BatchHeader& header = batch.header();
  switch (header.kind) {
    case BatchKind::shared:
    case BatchKind::timed: return append_batch(batch);
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < header.count; ++i) {
        const TableItem item = table_item(batch, at);
        at = item.next;
        append_table(header.type, item.target, item.table, header.argument);
      }
      return;
    }
    case BatchKind::each:
    case BatchKind::world:
    case BatchKind::subtree: break;
  }
  const Run run(header);
  const std::size_t item_bytes = header.item_bytes;
  const std::byte* from = batch.item(0);
  for (std::size_t left = header.count; left > 0;) {
    std::byte* at;
    if (batch.has_rows()) {
      at = next_item(run, batch.row_set());
    } else {
      at = next_item(run, header.argument);
    }
    const std::size_t more = std::min(left - 1, room() / item_bytes);
    std::memcpy(at, from, (1 + more) * item_bytes);
    write_ += more * item_bytes;
    from += (1 + more) * item_bytes;
    left -= 1 + more;
  }
}

void BatchWriter::swap_state(BatchWriter& other) noexcept {
  std::swap(write_, other.write_);
  std::swap(limit_, other.limit_);
  std::swap(end_, other.end_);
  std::swap(batch_bytes_, other.batch_bytes_);
  std::swap(batches_, other.batches_);
  std::swap(open_, other.open_);
  std::swap(open_key_, other.open_key_);
  std::swap(body_, other.body_);
  std::swap(reciprocal_, other.reciprocal_);
  std::swap(open_count_, other.open_count_);
  std::swap(causes_, other.causes_);
  std::swap(cause_, other.cause_);
}

}  // namespace muster
