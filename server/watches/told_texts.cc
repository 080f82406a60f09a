#include "server/watches/told_texts.h"

#include <cstring>

#include "schema/table.h"

namespace muster {

void send_texts(Session& to, const SeenState& world, const TypeDescriptor& type, const std::byte* value) {
  for (const std::uint32_t offset : type.text_offsets) {
    Text text;
    std::memcpy(&text, value + offset, sizeof text);
    if (must_be_sent(to, world, text)) send_text(to, world, text);
  }
}

namespace {

/// Of a table that was verified.
void send_texts(Session& to, const SeenState& world, const TypeTable& types, const TypeDescriptor& type,
                TableReader table) {
  const auto one = [&](FieldKind kind, const TypeDescriptor* of, const std::byte* at) {
    if (kind == FieldKind::table) return send_texts(to, world, types, *of, TableReader(TableReader::follow(at)));
    if (kind == FieldKind::structure) return send_texts(to, world, *of, at);
    const auto text = TableReader::read<Text>(at);
    if (must_be_sent(to, world, text)) send_text(to, world, text);
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

void send_texts(Session& to, const SeenState& world, const TypeTable& types, BatchView batch) {
  if (batch.kind() == BatchKind::timed) return send_texts(to, world, types, batch.inner());
  const TypeDescriptor* message = types.find(batch.type());
  if (!message) return;
  if (batch.kind() == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      send_texts(to, world, types, *message, TableReader::root(item.table));
      at = item.next;
    }
    return;
  }
  const std::uint32_t payloads = batch.kind() == BatchKind::shared ? 1 : batch.count();
  if (!message->text_offsets.empty())
    for (std::uint32_t i = 0; i < payloads; ++i) send_texts(to, world, *message, batch.payload(i));
  for (const RowSetEntry& entry : batch.row_set()) {
    const TypeDescriptor* component = types.find(entry.type);
    if (!component || component->text_offsets.empty()) continue;
    for (std::uint32_t i = 0; i < payloads; ++i) send_texts(to, world, *component, batch.payload(i) + entry.offset);
  }
}

}  // namespace muster
