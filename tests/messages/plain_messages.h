// Messages as a person would keep them, and how to get them out of batches: what arenas and builders are compared with.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "messages/batch_builder.h"
#include "tests/messages/test_types.h"

namespace test {

using muster::BatchBuilder;
using muster::BatchHeader;
using muster::BatchKind;
using muster::BatchView;
using muster::BatchWriter;
using muster::Entity;
using muster::hash32;
using muster::PayloadShape;
using muster::RowSet;
using muster::RowSetEntry;
using muster::StaticRowSet;
using muster::table_item;
using muster::TableItem;
using muster::TypeId;
using muster::TypeTraits;

/// One message as a person would keep it: no batches, no layout.
struct Plain {
  TypeId type = 0;
  BatchKind kind = BatchKind::each;
  std::uint64_t argument = 0;  // parts, or the due time
  std::uint64_t timer = 0;
  std::vector<Entity> targets;
  std::vector<std::uint64_t> causes;
  std::vector<TypeId> components;
  std::vector<std::byte> payload;  // with its components; of timed: the inner batch
  bool operator==(const Plain&) const = default;
};

/// The messages of a batch, one by one, appended to `out`.
inline void spread(BatchView batch, std::vector<Plain>& out) {
  const BatchHeader& h = batch.header();
  REQUIRE(h.bytes % 16 == 0);
  REQUIRE(reinterpret_cast<std::uintptr_t>(batch.body()) % 16 == 0);
  Plain one{.type = h.type,
            .kind = h.kind,
            .argument = h.argument,
            .timer = 0,
            .targets = {},
            .causes = {},
            .components = {},
            .payload = {}};
  for (const RowSetEntry& entry : batch.row_set()) one.components.push_back(entry.type);
  const auto cause_at = [&](const std::byte* at) {
    std::uint64_t cause;
    std::memcpy(&cause, at, 8);
    one.causes = {cause};
  };
  switch (h.kind) {
    case BatchKind::timed:
      one.timer = batch.timer();
      one.payload.assign(batch.inner().bytes().begin(), batch.inner().bytes().end());
      out.push_back(one);
      return;
    case BatchKind::shared:
      for (std::uint32_t i = 0; i < h.count; ++i) one.targets.push_back(batch.target(i));
      if (batch.has_causes()) cause_at(batch.body());
      one.payload.assign(batch.payload(0), batch.payload(0) + h.payload_bytes);
      out.push_back(one);
      return;
    case BatchKind::table: {
      const std::byte* at = batch.body();
      for (std::uint32_t i = 0; i < h.count; ++i) {
        const TableItem item = table_item(batch, at);
        if (batch.has_causes()) cause_at(at + 16);
        one.targets = {item.target};
        one.payload.assign(item.table.begin(), item.table.end());
        out.push_back(one);
        at = item.next;
      }
      REQUIRE(at == batch.bytes().data() + h.bytes);
      return;
    }
    default:
      for (std::uint32_t i = 0; i < h.count; ++i) {
        if (h.kind != BatchKind::world) one.targets = {batch.target(i)};
        if (batch.has_causes()) cause_at(batch.item(i) + (h.kind == BatchKind::world ? 0 : 8));
        one.payload.assign(batch.payload(i), batch.payload(i) + h.payload_bytes);
        out.push_back(one);
      }
  }
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto* at = reinterpret_cast<const std::byte*>(&value);
  return {at, at + sizeof value};
}

template <class... Cs, class M>
std::vector<std::byte> row_bytes(const M& message, const Cs&... components) {
  std::vector<std::byte> bytes(StaticRowSet<M, Cs...>::shape.bytes);
  StaticRowSet<M, Cs...>::put(bytes.data(), message, components...);
  return bytes;
}

/// Appends one random message to the writer and the same to the list.
inline void append_random(BatchWriter& writer, std::deque<Plain>& list, std::mt19937& random) {
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const Entity target{upto(1000) + 1, upto(3) + 1};
  Plain one;
  one.targets = {target};
  if (writer.causes()) {
    const std::uint64_t cause = upto(5);
    writer.set_cause(cause);
    one.causes = {cause};
  }
  const bool by_id = upto(2) == 0;
  const auto fill = [](std::byte* at, const auto& value) { std::memcpy(at, &value, sizeof value); };
  switch (upto(11)) {
    case 0:
    case 1: {
      const Damage m{.amount = static_cast<float>(upto(9)), .from = target};
      one.type = TypeTraits<Damage>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Damage>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 2: {
      const Nudge m{.x = 1, .y = 2, .z = static_cast<float>(upto(9))};
      one.type = TypeTraits<Nudge>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Nudge>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 3: {
      const Wide m{.low = upto(9), .high = 7};
      one.type = TypeTraits<Wide>::id;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append(PayloadShape::of<Wide>(), target), m);
      else
        writer.append(target, m);
      break;
    }
    case 4: {
      const Tick m{.dt = 0.5};
      one.type = TypeTraits<Tick>::id;
      one.kind = BatchKind::world;
      one.targets.clear();
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_world(PayloadShape::of<Tick>()), m);
      else
        writer.append_world(m);
      break;
    }
    case 5: {
      const Nudge m{.x = static_cast<float>(upto(9)), .y = 0, .z = 0};
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::subtree;
      one.argument = 1 + upto(7);
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_subtree(PayloadShape::of<Nudge>(), target, one.argument), m);
      else
        writer.append_subtree(target, one.argument, m);
      break;
    }
    case 6: {
      const Nudge m{.x = 3, .y = 0, .z = 0};
      one.targets.clear();
      for (std::uint32_t i = 0, n = 1 + upto(40); i < n; ++i) one.targets.push_back({i + 1, 1});
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::shared;
      one.payload = bytes_of(m);
      if (by_id)
        fill(writer.append_shared(PayloadShape::of<Nudge>(), one.targets), m);
      else
        writer.append_shared(one.targets, m);
      break;
    }
    case 7: {
      std::vector<std::byte> table(upto(60));
      for (std::byte& b : table) b = static_cast<std::byte>(random());
      one.type = hash32("test.Say");
      one.kind = BatchKind::table;
      one.argument = upto(2);
      one.payload = table;
      writer.append_table(one.type, target, table, one.argument);
      break;
    }
    case 8: {
      const Make m{.parent = target};
      const Health health{.value = static_cast<float>(upto(9))};
      const Matrix matrix{.m = {1, 2, 3, 4}};
      one.type = TypeTraits<Make>::id;
      const RowSet rows(PayloadShape::of<Make>(),
                        std::array{PayloadShape{TypeTraits<Health>::id, sizeof(Health), alignof(Health)},
                                   PayloadShape{TypeTraits<Matrix>::id, sizeof(Matrix), alignof(Matrix)}});
      for (const RowSetEntry& entry : rows.entries()) one.components.push_back(entry.type);
      one.payload = row_bytes(m, health, matrix);
      REQUIRE(rows.shape().bytes == one.payload.size());
      if (by_id) {
        std::byte* at = writer.append_rows(rows, target);
        fill(at, m);
        fill(at + rows.offset(TypeTraits<Health>::id), health);
        fill(at + rows.offset(TypeTraits<Matrix>::id), matrix);
      } else if (upto(2) == 0) {
        writer.append_rows(target, m, matrix, health);  // the order they are named in is no matter
      } else {
        writer.append_rows(target, m, health, matrix);
      }
      break;
    }
    case 9: {
      const Make m{.parent = target};
      one.type = TypeTraits<Make>::id;
      one.components = {TypeTraits<Tag64>::id};
      one.payload = row_bytes(m, Tag64{.bits = 5});
      if (by_id) {
        one.kind = BatchKind::shared;
        one.targets = {target, target, target};
        writer.append_rows_shared(one.targets, m, Tag64{.bits = 5});
      } else {
        writer.append_rows(target, m, Tag64{.bits = 5});
      }
      break;
    }
    case 10: {
      BatchBuilder inner;
      for (std::uint32_t i = 0, n = 1 + upto(5); i < n; ++i) inner.append(target, Nudge{});
      one.targets.clear();
      one.causes.clear();
      one.type = TypeTraits<Nudge>::id;
      one.kind = BatchKind::timed;
      one.argument = upto(100);
      one.timer = upto(100);
      one.payload.assign(inner.bytes().begin(), inner.bytes().end());
      writer.append_timed(one.argument, one.timer, inner.front());
      break;
    }
    default: break;
  }
  list.push_back(one);
}

}  // namespace test
