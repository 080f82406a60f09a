#include "examples/managers/transforms.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "examples/managers/bytes.h"

namespace managers {

using muster::Entity;

Matrix4 Matrix4::translation(float x, float y, float z) noexcept {
  Matrix4 made;
  made.m[12] = x;
  made.m[13] = y;
  made.m[14] = z;
  return made;
}

Matrix4 operator*(const Matrix4& a, const Matrix4& b) noexcept {
  Matrix4 made;
  for (int column = 0; column < 4; ++column)
    for (int row = 0; row < 4; ++row) {
      float sum = 0;
      for (int i = 0; i < 4; ++i) sum += a.m[i * 4 + row] * b.m[column * 4 + i];
      made.m[column * 4 + row] = sum;
    }
  return made;
}

Transforms::Transforms(muster::EntityRegistry& registry, std::string name) : registry_(registry) {
  registry_.add_manager(std::move(name), *this);
}
Transforms::~Transforms() { registry_.remove_manager(*this); }

void Transforms::grow(std::uint32_t capacity) {
  constexpr std::size_t boundary = 16;
  const auto padded = [](std::size_t bytes) { return (bytes + boundary - 1) / boundary * boundary; };
  Rows made;
  std::size_t bytes = 0;
  made.each([&](auto* array) { bytes += padded(sizeof *array * capacity); });
  std::unique_ptr<std::byte, Free> block(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64})));
  std::byte* at = block.get();
  made.each([&](auto*& array) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(at);
    at += padded(sizeof *array * capacity);
  });
  if (size_) {
    std::memcpy(made.entities, rows_.entities, size_ * sizeof(Entity));
    std::memcpy(made.local, rows_.local, size_ * sizeof(Matrix4));
    std::memcpy(made.world, rows_.world, size_ * sizeof(Matrix4));
    std::memcpy(made.parent, rows_.parent, size_ * sizeof(Instance));
    std::memcpy(made.first_child, rows_.first_child, size_ * sizeof(Instance));
    std::memcpy(made.next_sibling, rows_.next_sibling, size_ * sizeof(Instance));
    std::memcpy(made.prev_sibling, rows_.prev_sibling, size_ * sizeof(Instance));
    std::memcpy(made.moved, rows_.moved, size_);
  }
  block_ = std::move(block);
  rows_ = made;
  capacity_ = capacity;
}

Transforms::Instance Transforms::create(Entity e) {
  if (const Instance known = lookup(e); known != nil) return known;
  if (size_ == capacity_) grow(std::max(16u, capacity_ * 2));
  const Instance i = size_++;
  rows_.entities[i] = e;
  rows_.local[i] = rows_.world[i] = Matrix4{};
  rows_.parent[i] = rows_.first_child[i] = rows_.next_sibling[i] = rows_.prev_sibling[i] = nil;
  rows_.moved[i] = 0;
  map_.put(e, i);
  return i;
}

Transforms::Instance Transforms::lookup(Entity e) const noexcept {
  const Instance* row = map_.find(e);
  return row ? *row : nil;
}

void Transforms::unlink(Instance i) {
  const Instance parent = rows_.parent[i], next = rows_.next_sibling[i], previous = rows_.prev_sibling[i];
  if (previous != nil)
    rows_.next_sibling[previous] = next;
  else if (parent != nil)
    rows_.first_child[parent] = next;
  if (next != nil) rows_.prev_sibling[next] = previous;
  rows_.parent[i] = rows_.next_sibling[i] = rows_.prev_sibling[i] = nil;
}

bool Transforms::link(Instance i, Instance parent) {
  for (Instance up = parent; up != nil; up = rows_.parent[up])
    if (up == i) return false;
  unlink(i);
  if (parent != nil) {
    const Instance first = rows_.first_child[parent];
    rows_.parent[i] = parent;
    rows_.next_sibling[i] = first;
    if (first != nil) rows_.prev_sibling[first] = i;
    rows_.first_child[parent] = i;
  }
  update(i);
  return true;
}

void Transforms::set_local(Instance i, const Matrix4& local) {
  rows_.local[i] = local;
  update(i);
}

void Transforms::update(Instance top) {
  Instance i = top;
  for (;;) {
    const Instance up = rows_.parent[i];
    rows_.world[i] = up == nil ? rows_.local[i] : rows_.world[up] * rows_.local[i];
    if (!rows_.moved[i]) {
      rows_.moved[i] = 1;
      moved_.push_back(rows_.entities[i]);
    }
    if (rows_.first_child[i] != nil) {
      i = rows_.first_child[i];
      continue;
    }
    while (i != top && rows_.next_sibling[i] == nil) i = rows_.parent[i];
    if (i == top) return;
    i = rows_.next_sibling[i];
  }
}

void Transforms::destroy(Instance i) {
  while (rows_.first_child[i] != nil) {
    const Instance child = rows_.first_child[i];
    unlink(child);
    rows_.local[child] = rows_.world[child];
  }
  unlink(i);
  map_.erase(rows_.entities[i]);
  if (rows_.moved[i]) std::erase(moved_, rows_.entities[i]);
  const Instance last = --size_;
  if (i == last) return;
  rows_.each([&](auto* array) { array[i] = array[last]; });
  map_.put(rows_.entities[i], i);
  // Row `i` has no links of its own any more, so whoever names `last` means what is in `i` now.
  if (rows_.prev_sibling[i] != nil)
    rows_.next_sibling[rows_.prev_sibling[i]] = i;
  else if (rows_.parent[i] != nil)
    rows_.first_child[rows_.parent[i]] = i;
  if (rows_.next_sibling[i] != nil) rows_.prev_sibling[rows_.next_sibling[i]] = i;
  for (Instance child = rows_.first_child[i]; child != nil; child = rows_.next_sibling[child]) rows_.parent[child] = i;
}

std::vector<Entity> Transforms::take_moved() {
  std::fill_n(rows_.moved, size_, std::uint8_t{0});
  return std::exchange(moved_, {});
}

void Transforms::on_destroyed(std::span<const Entity> gone) {
  for (const Entity e : gone)
    if (const Instance i = lookup(e); i != nil) destroy(i);
}

void Transforms::describe(Entity e, const std::function<void(const muster::Held&)>& take) const {
  if (const Instance i = lookup(e); i != nil)
    take({.name = "local", .bytes = std::as_bytes(std::span(&rows_.local[i], 1))});
}

void Transforms::save(std::vector<std::byte>& out) const {
  put(out, std::uint64_t{size_});
  put(out, std::uint64_t{moved_.size()});
  put(out, std::span<const Entity>(rows_.entities, size_));
  put(out, std::span<const Matrix4>(rows_.local, size_));
  for (const Instance* links : {rows_.parent, rows_.first_child, rows_.next_sibling, rows_.prev_sibling})
    put(out, std::span<const Instance>(links, size_));
  put(out, std::span<const Entity>(moved_));
}

std::expected<void, std::string> Transforms::load(std::uint32_t, std::span<const std::byte> bytes) {
  Reader reader{bytes};
  const auto count = reader.take<std::uint64_t>();
  const auto moved = reader.take<std::uint64_t>();
  constexpr std::size_t row_bytes = sizeof(Entity) + sizeof(Matrix4) + 4 * sizeof(Instance);
  if (!reader.good || count > reader.bytes.size() / row_bytes ||
      moved != (reader.bytes.size() - count * row_bytes) / sizeof(Entity))
    return std::unexpected("transforms are truncated");
  // Read into rows of their own, so that a fault changes nothing.
  std::vector<Entity> entities(count), moved_entities(moved);
  std::vector<Matrix4> local(count);
  std::vector<Instance> links[4];
  reader.take(entities.data(), count * sizeof(Entity));
  reader.take(local.data(), count * sizeof(Matrix4));
  for (auto& link : links) {
    link.resize(count);
    reader.take(link.data(), count * sizeof(Instance));
    for (const Instance to : link)
      if (to != nil && to >= count) return std::unexpected("a transform's link is out of range");
  }
  reader.take(moved_entities.data(), moved * sizeof(Entity));
  if (!reader.done()) return std::unexpected("transforms are truncated");
  const auto& [parent, first, next, previous] = links;
  muster::FlatMap<Entity, Instance> map;
  std::uint64_t reached = 0;
  std::vector<Instance> open;
  for (Instance i = 0; i < count; ++i) {
    map.put(entities[i], i);
    if (parent[i] == nil) {
      if (next[i] != nil || previous[i] != nil) return std::unexpected("a root transform has siblings");
      open.push_back(i);
    }
  }
  while (!open.empty() && reached <= count) {
    const Instance i = open.back();
    open.pop_back();
    ++reached;
    Instance before = nil;
    for (Instance child = first[i]; child != nil; before = child, child = next[child]) {
      if (parent[child] != i || previous[child] != before || open.size() > count)
        return std::unexpected("links of transforms disagree");
      open.push_back(child);
    }
  }
  if (reached != count || map.size() != count) return std::unexpected("links of transforms disagree");
  for (const Entity e : moved_entities)
    if (!map.find(e)) return std::unexpected("an entity that moved has no transform");

  size_ = 0;
  grow(std::max(16u, static_cast<std::uint32_t>(count)));
  size_ = static_cast<std::uint32_t>(count);
  std::ranges::copy(entities, rows_.entities);
  std::ranges::copy(local, rows_.local);
  std::ranges::copy(parent, rows_.parent);
  std::ranges::copy(first, rows_.first_child);
  std::ranges::copy(next, rows_.next_sibling);
  std::ranges::copy(previous, rows_.prev_sibling);
  std::fill_n(rows_.moved, size_, std::uint8_t{1});
  map_ = std::move(map);
  for (Instance i = 0; i < size_; ++i)
    if (rows_.parent[i] == nil) update(i);
  std::fill_n(rows_.moved, size_, std::uint8_t{0});
  for (const Entity e : moved_entities) rows_.moved[*map_.find(e)] = 1;
  moved_ = std::move(moved_entities);
  return {};
}

}  // namespace managers
