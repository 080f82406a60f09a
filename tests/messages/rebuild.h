// What was accepted can be read, and made again from what was read: for the verifier's tests and its fuzzing.
#pragma once

#include <cstring>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/type_table.h"
#include "tests/messages/test_types.h"

namespace test {

/// Reads all fields of all test.Say tables in a batch; a number that depends on them.
inline std::uint64_t read_through(muster::BatchView batch) {
  std::uint64_t read = 0;
  if (batch.kind() != muster::BatchKind::table || batch.type() != muster::TypeTraits<Say>::id) return read;
  const std::byte* at = batch.body();
  for (std::uint32_t i = 0; i < batch.count(); ++i) {
    const muster::TableItem item = muster::table_item(batch, at);
    const SayView say(muster::TableReader::root(item.table));
    read += say.text().size();
    for (const auto word : say.words()) read += word.text().size();
    for (const auto text : say.names()) read += text.size();
    for (const Lamp& lamp : say.lamps()) read += lamp.lit;
    for (const double value : say.numbers()) read += value > 0;
    at = item.next;
  }
  return read;
}

/// Appends the messages of an accepted batch one by one to a new builder; the bytes of that. Not for timed batches.
inline std::vector<std::byte> rebuilt(muster::BatchView batch, const muster::TypeTable& types) {
  using muster::BatchHeader, muster::BatchKind, muster::BatchBuilder, muster::BatchView, muster::Entity;
  using muster::PayloadShape, muster::RowSet, muster::RowSetEntry, muster::TableItem, muster::TypeDescriptor;
  BatchBuilder again(muster::batch_bytes_max);
  const BatchHeader& h = batch.header();
  const TypeDescriptor& type = *types.find(h.type);
  const PayloadShape shape = PayloadShape::of(type);
  std::vector<const TypeDescriptor*> components;
  for (const RowSetEntry& entry : batch.row_set()) components.push_back(types.find(entry.type));
  again.set_causes(batch.has_causes());
  const auto cause_at = [&](const std::byte* at) {
    std::uint64_t cause = 0;
    if (batch.has_causes()) std::memcpy(&cause, at, sizeof cause);
    again.set_cause(cause);
  };
  if (h.kind == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < h.count; ++i) {
      const TableItem item = table_item(batch, at);
      cause_at(at + 16);
      again.append_table(h.type, item.target, item.table, h.argument);
      at = item.next;
    }
  } else if (h.kind == BatchKind::shared) {
    std::vector<Entity> targets;
    for (std::uint32_t i = 0; i < h.count; ++i) targets.push_back(batch.target(i));
    cause_at(batch.body());
    std::byte* at = batch.has_rows() ? again.append_rows_shared(RowSet(type, components), targets)
                                     : again.append_shared(shape, targets);
    std::memcpy(at, batch.payload(0), h.payload_bytes);
  } else {
    const RowSet rows(type, components);
    for (std::uint32_t i = 0; i < h.count; ++i) {
      const bool world = h.kind == BatchKind::world;
      cause_at(batch.item(i) + (world ? 0 : 8));
      std::byte* at = batch.has_rows()            ? again.append_rows(rows, batch.target(i))
                      : world                     ? again.append_world(shape)
                      : h.kind == BatchKind::each ? again.append(shape, batch.target(i))
                                                  : again.append_subtree(shape, batch.target(i), h.argument);
      std::memcpy(at, batch.payload(i), h.payload_bytes);
    }
  }
  return {again.bytes().begin(), again.bytes().end()};
}

}  // namespace test
