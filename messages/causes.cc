#include "messages/causes.h"

#include <vector>

namespace muster {

void append_without_causes(BatchWriter& to, const BatchView& batch, const TypeTable& types, std::uint32_t first) {
  const BatchHeader& header = batch.header();
  if (header.kind == BatchKind::timed) return to.append_batch(batch);
  if (header.kind == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < header.count; ++i) {
      const TableItem item = table_item(batch, at);
      at = item.next;
      if (i >= first) to.append_table(header.type, item.target, item.table, header.argument);
    }
    return;
  }
  const auto known = [&](TypeId id) {
    const TypeDescriptor* type = types.find(id);
    require(type != nullptr, "a batch with causes names an unknown type");
    return type;
  };
  const TypeDescriptor& type = *known(header.type);
  const std::span<const Entity> targets =
      header.kind == BatchKind::shared
          ? std::span(reinterpret_cast<const Entity*>(batch.shared_targets()), header.count)
          : std::span<const Entity>();
  const auto put = [&](std::byte* payload, std::uint32_t i) {
    if (header.payload_bytes != 0) std::memcpy(payload, batch.payload(i), header.payload_bytes);
  };
  if (batch.has_rows()) {
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& entry : batch.row_set()) components.push_back(known(entry.type));
    const RowSet rows(type, components);
    require(rows.shape().bytes == header.payload_bytes, "a row set's layout does not match its types");
    if (header.kind == BatchKind::shared) return put(to.append_rows_shared(rows, targets), 0);
    for (std::uint32_t i = first; i < header.count; ++i) put(to.append_rows(rows, batch.target(i)), i);
    return;
  }
  const PayloadShape shape{header.type, header.payload_bytes, type.align};
  if (header.kind == BatchKind::shared) return put(to.append_shared(shape, targets), 0);
  for (std::uint32_t i = first; i < header.count; ++i)
    put(header.kind == BatchKind::world     ? to.append_world(shape)
        : header.kind == BatchKind::subtree ? to.append_subtree(shape, batch.target(i), header.argument)
                                            : to.append(shape, batch.target(i)),
        i);
}

}  // namespace muster
