#include "server/watches/told_texts.h"

#include <cstring>

#include "messages/step_batches.h"
#include "schema/table.h"

namespace muster {
namespace {

constexpr std::size_t text_frame_bytes = 128;  // overhead per text, in bytes

/// Calls f(text) for each interned text in a value.
template <class F>
void for_each_text(const TypeDescriptor& type, const std::byte* value, F&& f) {
  for (const std::uint32_t offset : type.text_offsets) {
    Text text;
    std::memcpy(&text, value + offset, sizeof text);
    f(text);
  }
}

/// Calls f(text) for each interned text in a verified table.
template <class F>
void for_each_text(const TypeTable& types, const TypeDescriptor& type, TableReader table, F&& f) {
  const auto one = [&](FieldKind kind, const TypeDescriptor* of, const std::byte* at) {
    if (kind == FieldKind::table) return for_each_text(types, *of, TableReader(TableReader::follow(at)), f);
    if (kind == FieldKind::structure) return for_each_text(*of, at, f);
    f(TableReader::read<Text>(at));
  };
  for (const FieldDescriptor& field : type.fields) {
    const std::byte* at = table.field(field.slot);
    const bool is_vector = field.kind == FieldKind::vector;
    const FieldKind kind = is_vector ? field.element : field.kind;
    const TypeDescriptor* of = field.type != 0 ? types.find(field.type) : nullptr;
    const bool may_mention = kind == FieldKind::text || (kind == FieldKind::table && of != nullptr) ||
                             (kind == FieldKind::structure && of != nullptr && !of->text_offsets.empty());
    if (at == nullptr || !may_mention) continue;
    if (!is_vector) {
      one(kind, of, at);
      continue;
    }
    const std::byte* const vector = TableReader::follow(at);
    const std::size_t size = kind == FieldKind::table ? 4 : kind == FieldKind::text ? sizeof(Text) : of->size;
    const auto count = TableReader::read<std::uint32_t>(vector);
    for (std::uint32_t i = 0; i < count; ++i) one(kind, of, vector + 4 + i * size);
  }
}

}  // namespace

namespace {

template <class F>
void for_each_text(const TypeTable& types, BatchView batch, F&& f) {
  if (batch.kind() == BatchKind::timed) return for_each_text(types, batch.inner(), f);
  const TypeDescriptor* message = types.find(batch.type());
  if (!message) return;
  if (batch.kind() == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      for_each_text(types, *message, TableReader::root(item.table), f);
      if (batch.type() == TypeTraits<Step>::id)
        StepBatches(item.table).for_each([&](BatchView inside) { for_each_text(types, inside, f); });
      at = item.next;
    }
    return;
  }
  const std::uint32_t payloads = batch.kind() == BatchKind::shared ? 1 : batch.count();
  if (!message->text_offsets.empty())
    for (std::uint32_t i = 0; i < payloads; ++i) for_each_text(*message, batch.payload(i), f);
  for (const RowSetEntry& entry : batch.row_set()) {
    const TypeDescriptor* component = types.find(entry.type);
    if (!component || component->text_offsets.empty()) continue;
    for (std::uint32_t i = 0; i < payloads; ++i) for_each_text(*component, batch.payload(i) + entry.offset, f);
  }
}

}  // namespace

std::size_t unsent_bytes(const Session& to, const SeenState& world, Text text) {
  return must_be_sent(to, world, text) ? text_frame_bytes + world.text(text).size() : 0;
}

std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeDescriptor& type,
                         const std::byte* value) {
  std::size_t bytes = 0;
  for_each_text(type, value, [&](Text text) { bytes += unsent_bytes(to, world, text); });
  return bytes;
}

std::size_t unsent_bytes(const Session& to, const SeenState& world, const TypeTable& types, BatchView batch) {
  std::size_t bytes = 0;
  for_each_text(types, batch, [&](Text text) { bytes += unsent_bytes(to, world, text); });
  return bytes;
}

void send_texts(Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value) {
  for_each_text(type, value, [&](Text text) {
    if (must_be_sent(to, world, text)) send_text(to, world, text);
  });
}

void send_texts(Session& to, const SeenState& world, const TypeTable& types, BatchView batch) {
  for_each_text(types, batch, [&](Text text) {
    if (must_be_sent(to, world, text)) send_text(to, world, text);
  });
}

}  // namespace muster
