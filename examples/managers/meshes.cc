#include "examples/managers/meshes.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "examples/managers/bytes.h"
#include "examples/managers/managers.h"
#include "examples/managers/sweep.h"

namespace managers {

using muster::Entity;

Meshes::Meshes(muster::EntityRegistry& registry) : registry_(registry) {
  registry_.add_manager("meshes", *this);
  const muster::HandlerOptions writes{.external_writes = {"meshes"}};
  handlers_.add(registry_.subscribe("meshes.add", *this, &Meshes::add, writes));
  handlers_.add(registry_.subscribe("meshes.remove", *this, &Meshes::remove_by_id, writes));
}
Meshes::~Meshes() { registry_.remove_manager(*this); }

Instance Meshes::first(Entity e) const noexcept {
  const Instance* row = first_.find(e);
  return row ? *row : no_instance;
}

void Meshes::changed(Instance i) {
  if (versions_.size() <= i / part_rows) versions_.resize(i / part_rows + 1);
  versions_[i / part_rows] = version_ = registry_.version();
}

void Meshes::add(const AddMesh& message, Entity self) {
  const auto made = static_cast<Instance>(rows_.size());
  rows_.push_back({.entity = self, .mesh = message.mesh, .id = next_id_++});
  changed(made);
  redirect(self, no_instance, made);  // the end of the chain, or its beginning if there is none yet
}

void Meshes::remove_by_id(const RemoveMesh& message, Entity self) {
  for (Instance i = first(self); i != no_instance; i = rows_[i].next)
    if (rows_[i].id == message.instance) return remove(i);
}

void Meshes::redirect(Entity e, Instance from, Instance to) {
  const Instance head = first(e);
  if (head == from) {
    if (to == no_instance)
      first_.erase(e);
    else
      first_.put(e, to);
    return;
  }
  for (Instance i = head; i != no_instance; i = rows_[i].next)
    if (rows_[i].next == from) {
      rows_[i].next = to;
      changed(i);
      return;
    }
}

void Meshes::remove(Instance i) {
  redirect(rows_[i].entity, i, rows_[i].next);
  const auto last = static_cast<Instance>(rows_.size() - 1);
  if (i != last) {
    redirect(rows_[last].entity, last, i);
    rows_[i] = rows_[last];
    changed(i);
  }
  rows_.pop_back();
  changed(last);
}

std::uint32_t Meshes::collect(std::uint32_t rows) {
  version_ = registry_.version();
  return sweep(
      cursor_, rows, [this] { return size(); },
      [this](std::uint32_t row) { return !registry_.alive(rows_[row].entity); },
      [this](std::uint32_t row) { remove(row); });
}

void Meshes::describe(Entity e, const std::function<void(const muster::Held&)>& take) const {
  for (Instance i = first(e); i != no_instance; i = rows_[i].next)
    take({.name = "mesh", .instance = rows_[i].id, .bytes = std::as_bytes(std::span(&rows_[i].mesh, 1))});
}

void Meshes::save_parts(muster::ManagerSink& to) const {
  if (!to.has(0, version_)) {
    std::vector<std::byte> head;
    for (const std::uint64_t value : {next_id_, std::uint64_t{cursor_}, std::uint64_t{rows_.size()}}) put(head, value);
    to.part(0, version_, head);
  }
  for (std::uint32_t part = 0; part * std::size_t{part_rows} < rows_.size(); ++part) {
    if (to.has(part + 1, versions_[part])) continue;
    const auto rows = std::span<const Row>(rows_).subspan(part * std::size_t{part_rows});
    to.part(part + 1, versions_[part], std::as_bytes(rows.first(std::min<std::size_t>(rows.size(), part_rows))));
  }
}

std::expected<void, std::string> Meshes::load_parts(std::uint32_t, std::span<const muster::ManagerPart> parts) {
  if (parts.empty() || parts[0].number != 0) return std::unexpected("the first part of the meshes is missing");
  Reader head{parts[0].bytes};
  const auto next_id = head.take<std::uint64_t>();
  const auto cursor = head.take<std::uint64_t>();
  const auto count = head.take<std::uint64_t>();
  if (!head.done()) return std::unexpected("meshes are truncated");
  std::vector<Row> rows;
  for (const muster::ManagerPart& part : parts.subspan(1)) {
    const std::size_t here = part.bytes.size() / sizeof(Row);
    // All parts before the last are full.
    if (rows.size() != (part.number - 1) * std::size_t{part_rows} || here == 0 || here > part_rows ||
        part.bytes.size() != here * sizeof(Row))
      return std::unexpected("part " + std::to_string(part.number) + " of the meshes or an earlier one is truncated");
    rows.resize(rows.size() + here);
    std::memcpy(&rows[rows.size() - here], part.bytes.data(), part.bytes.size());
  }
  if (rows.size() != count) return std::unexpected("meshes are truncated");
  return take_over(next_id, cursor, std::move(rows));
}

/// As it was saved in one piece: part 0, and all rows behind it.
std::expected<void, std::string> Meshes::load(std::uint32_t, std::span<const std::byte> bytes) {
  Reader reader{bytes};
  const auto next_id = reader.take<std::uint64_t>();
  const auto cursor = reader.take<std::uint64_t>();
  const auto count = reader.take<std::uint64_t>();
  if (!reader.good || count != reader.bytes.size() / sizeof(Row)) return std::unexpected("meshes are truncated");
  std::vector<Row> rows(count);
  reader.take(rows.data(), count * sizeof(Row));
  if (!reader.done()) return std::unexpected("meshes are truncated");
  return take_over(next_id, cursor, std::move(rows));
}

std::expected<void, std::string> Meshes::take_over(std::uint64_t next_id, std::uint64_t cursor, std::vector<Row> rows) {
  const std::size_t count = rows.size();
  std::vector<bool> led_to(count);
  for (const Row& row : rows) {
    if (row.next == no_instance) continue;
    if (row.next >= count || led_to[row.next] || rows[row.next].entity != row.entity || rows[row.next].id <= row.id)
      return std::unexpected("a chain of meshes is broken");
    led_to[row.next] = true;
  }
  muster::FlatMap<Entity, Instance> first;
  for (Instance i = 0; i < count; ++i) {
    if (rows[i].id >= next_id) return std::unexpected("a mesh's id was never issued");
    if (led_to[i]) continue;
    if (first.find(rows[i].entity)) return std::unexpected("an entity has two chains of meshes");
    first.put(rows[i].entity, i);
  }
  next_id_ = next_id;
  cursor_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(cursor, count));
  versions_.assign((count + part_rows - 1) / part_rows, 0);
  version_ = 0;
  rows_ = std::move(rows);
  first_ = std::move(first);
  return {};
}

}  // namespace managers
