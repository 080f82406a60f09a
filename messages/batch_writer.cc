#include "messages/batch_writer.h"

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
BatchHeader& BatchWriter::start(const BatchHeader& header, std::uint64_t key, std::span<const RowSetEntry> rows,
                                std::size_t body) {
  seal();
  const std::size_t head = std::size_t{header.header_units} * 16;
  const std::size_t bytes = head + up_to_16(body);
  must(bytes <= batch_bytes_max, "a batch would be larger than 1 GiB");
  if (room() < bytes) make_room(bytes);
  open_ = write_;
  open_key_ = key;
  std::memcpy(open_, &header, sizeof header);
  if ((header.flags & batch_rows) != 0) {
    std::memset(open_ + sizeof header, 0, head - sizeof header);
    store(open_ + sizeof header, static_cast<std::uint32_t>(rows.size()));
    if (!rows.empty()) std::memcpy(open_ + sizeof header + 8, rows.data(), rows.size_bytes());
  }
  write_ = open_ + head;
  return *reinterpret_cast<BatchHeader*>(open_);
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
  on_sealed(bytes);
}

std::byte* BatchWriter::append_item(BatchKind kind, PayloadShape shape, Entity target, std::uint64_t parts,
                                    std::span<const RowSetEntry> rows, bool has_rows) {
  must(parts <= all_parts, "unknown bits in a mask of SubtreeParts");
  const auto flags = static_cast<std::uint8_t>((causes_ ? batch_causes : 0) | (has_rows ? batch_rows : 0));
  const Item item(kind, shape, causes_);
  const std::uint64_t key = run_key(shape.type, kind, flags, parts);

  bool extends = open_key_ == key;
  if (extends) {
    const BatchView open(open_);
    must(has_rows || open.header().payload_bytes == shape.bytes, "one message type was given with two sizes");
    if (has_rows) {
      const auto have = open.row_set();
      extends =
          have.size() == rows.size() && (rows.empty() || std::memcmp(have.data(), rows.data(), rows.size_bytes()) == 0);
    }
    if (extends && room() < item.bytes) extends = grow_open(item.bytes);
  }
  if (!extends) {
    BatchHeader header;
    header.type = shape.type;
    header.kind = kind;
    header.flags = flags;
    if (has_rows)
      header.header_units = static_cast<std::uint8_t>(
          (sizeof(BatchHeader) + row_set_bytes(static_cast<std::uint32_t>(rows.size()))) / 16);
    header.payload_offset = static_cast<std::uint8_t>(item.offset);
    header.payload_bytes = shape.bytes;
    header.item_bytes = item.bytes;
    header.argument = parts;
    start(header, key, rows, item.bytes);
  }

  std::byte* const at = write_;
  write_ = at + item.bytes;
  std::memset(at, 0, item.bytes);
  std::byte* head = at;
  if (kind != BatchKind::world) {
    store(head, target);
    head += 8;
  }
  if (causes_) store(head, cause_);
  return at + item.offset;
}

std::byte* BatchWriter::append_shared_item(PayloadShape shape, std::span<const Entity> targets,
                                           std::span<const RowSetEntry> rows, bool has_rows) {
  if (targets.empty()) return nullptr;
  must(targets.size() <= batch_bytes_max / 8, "a shared message has too many targets");
  BatchHeader header;
  header.type = shape.type;
  header.kind = BatchKind::shared;
  header.flags = static_cast<std::uint8_t>((causes_ ? batch_causes : 0) | (has_rows ? batch_rows : 0));
  if (has_rows)
    header.header_units =
        static_cast<std::uint8_t>((sizeof(BatchHeader) + row_set_bytes(static_cast<std::uint32_t>(rows.size()))) / 16);
  header.payload_offset = static_cast<std::uint8_t>(payload_offset_for(BatchKind::shared, causes_, shape.align));
  header.count = static_cast<std::uint32_t>(targets.size());
  header.payload_bytes = shape.bytes;
  header.item_bytes = 8;
  const std::size_t head = header.payload_offset + up_to_16(shape.bytes);
  start(header, run_key(shape.type, BatchKind::shared, header.flags, 0), rows, head + targets.size_bytes());
  std::byte* const at = write_;
  std::memset(at, 0, head);
  if (causes_) store(at, cause_);
  std::memcpy(at + head, targets.data(), targets.size_bytes());
  write_ = at + head + targets.size_bytes();
  seal();
  return at + header.payload_offset;
}

void BatchWriter::append_table(TypeId type, Entity target, std::span<const std::byte> table, std::uint64_t parts) {
  must(parts <= all_parts, "unknown bits in a mask of SubtreeParts");
  must(table.size() <= batch_bytes_max, "a table is larger than 1 GiB");
  const auto flags = static_cast<std::uint8_t>(causes_ ? batch_causes : 0);
  const std::uint32_t offset = payload_offset_for(BatchKind::table, causes_, 16);
  const std::size_t bytes = offset + up_to_16(table.size());
  const std::uint64_t key = run_key(type, BatchKind::table, flags, parts);
  if (open_key_ != key || (room() < bytes && !grow_open(bytes))) {
    BatchHeader header;
    header.type = type;
    header.kind = BatchKind::table;
    header.flags = flags;
    header.payload_offset = static_cast<std::uint8_t>(offset);
    header.argument = parts;
    start(header, key, {}, bytes);
  }
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
  BatchHeader header;
  header.type = inner.type();
  header.kind = BatchKind::timed;
  header.payload_offset = 16;
  header.count = 1;
  header.argument = due;
  start(header, run_key(header.type, BatchKind::timed, 0, 0), {}, 16 + bytes.size());
  store(write_, timer);
  store(write_ + 8, std::uint64_t{0});
  std::memcpy(write_ + 16, bytes.data(), bytes.size());
  write_ += 16 + bytes.size();
  seal();
}

void BatchWriter::append_batch(BatchView batch) {
  seal();
  const std::span<const std::byte> bytes = batch.bytes();
  if (room() < bytes.size()) make_room(bytes.size());
  std::memcpy(write_, bytes.data(), bytes.size());
  write_ += bytes.size();
  on_sealed(bytes.size());
}

void BatchWriter::swap_state(BatchWriter& other) noexcept {
  std::swap(write_, other.write_);
  std::swap(limit_, other.limit_);
  std::swap(open_, other.open_);
  std::swap(open_key_, other.open_key_);
  std::swap(causes_, other.causes_);
  std::swap(cause_, other.cause_);
}

}  // namespace muster
