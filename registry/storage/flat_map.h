// A hash map in a single block, with linear probing and backward-shift removal. Insertions do not
// allocate memory once the map has grown. It cannot be iterated, because nothing in a registry may
// depend on the order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace muster {

template <class Key, class Value, class Hash = std::hash<Key>>
class FlatMap {
 public:
  std::size_t size() const noexcept { return size_; }

  Value* find(const Key& key) noexcept { return const_cast<Value*>(std::as_const(*this).find(key)); }
  const Value* find(const Key& key) const noexcept {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = home(key); used_[at]; at = next(at))
      if (slots_[at].first == key) return &slots_[at].second;
    return nullptr;
  }
  /// Inserts a value or overwrites the existing one. Invalidates references to values.
  Value& put(const Key& key, Value value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) [[unlikely]] {
      if (Value* known = find(key)) return *known = std::move(value);
      grow();
    }
    std::size_t at = home(key);
    for (; used_[at]; at = next(at))
      if (slots_[at].first == key) return slots_[at].second = std::move(value);
    used_[at] = 1;
    slots_[at] = {key, std::move(value)};
    ++size_;
    return slots_[at].second;
  }
  /// Inserts a value unless there is one. Returns true if it was inserted. Invalidates references
  /// to values.
  bool put_new(const Key& key, Value value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) [[unlikely]] {
      if (find(key)) return false;
      grow();
    }
    std::size_t at = home(key);
    for (; used_[at]; at = next(at))
      if (slots_[at].first == key) return false;
    used_[at] = 1;
    slots_[at] = {key, std::move(value)};
    ++size_;
    return true;
  }
  /// Prefetches the memory that a later call for `key` will use.
  void prefetch(const Key& key) const noexcept {
    if (slots_.empty()) return;
    const std::size_t at = home(key);
    __builtin_prefetch(used_.data() + at);
    __builtin_prefetch(slots_.data() + at, 1);
  }
  bool erase(const Key& key) noexcept {
    if (slots_.empty()) return false;
    std::size_t at = home(key);
    while (used_[at] && !(slots_[at].first == key)) at = next(at);
    if (!used_[at]) return false;
    for (std::size_t from = next(at); used_[from]; from = next(from)) {
      const std::size_t wanted = home(slots_[from].first);
      if (((from - wanted) & mask()) >= ((from - at) & mask())) {
        slots_[at] = std::move(slots_[from]);
        at = from;
      }
    }
    used_[at] = 0;
    slots_[at] = {};
    --size_;
    return true;
  }
  void clear() noexcept {
    slots_.clear();
    used_.clear();
    size_ = 0;
  }

 private:
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t home(const Key& key) const noexcept {
    return (Hash{}(key) * 0x9e3779b97f4a7c15ull) >> (64 - std::countr_zero(slots_.size()));
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
  void grow() {
    std::vector<std::pair<Key, Value>> old(slots_.empty() ? 16 : slots_.size() * 2);
    std::vector<std::uint8_t> old_used(old.size());
    old.swap(slots_);
    old_used.swap(used_);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (!old_used[i]) continue;
      std::size_t at = home(old[i].first);
      while (used_[at]) at = next(at);
      used_[at] = 1;
      slots_[at] = std::move(old[i]);
    }
  }

  std::vector<std::pair<Key, Value>> slots_;
  std::vector<std::uint8_t> used_;
  std::size_t size_ = 0;
};

}  // namespace muster
