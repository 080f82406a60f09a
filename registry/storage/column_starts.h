// The addresses of the values of a component type, indexed by chunk number. Used by handlers that
// take values from other rows. A row's locator alone then determines the address of the row's
// value, without a branch that depends on which entity owns the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <vector>

#include "registry/storage/ancestors.h"
#include "registry/storage/storage.h"

namespace muster {

class ColumnStarts {
 public:
  explicit ColumnStarts(TypeId type) noexcept : type_(type), search_(AncestorSearch::Kind::above, type) {}
  TypeId type() const noexcept { return type_; }
  /// Discards outdated entries. Must be called before rows of `chunk` are visited; these rows must
  /// have parents. The other entries are valid as long as the storage's stamp does not change and
  /// no row is given another parent.
  void begin(const Storage& storage, const Chunk& chunk) {
    storage_ = &storage;
    chunk_ = &chunk;
    last_parent_ = 0;
    if (stamp_ != storage.stamp() || starts_.size() < storage.chunk_numbers()) [[unlikely]]
      forget(storage);
  }
  /// Returns the start addresses for all chunks, indexed by chunk number. The address of a row's
  /// value is the start address plus the bits of the row's locator times bytes(). A start of
  /// `no_start` or less means that the address is unknown, or that the chunk has no column in which
  /// every row has a value.
  const std::uintptr_t* starts() const noexcept { return starts_.data(); }
  static constexpr std::uintptr_t no_start = 1;
  /// Returns the size of a value. Valid only if some chunk has a start address.
  std::uint32_t bytes() const noexcept { return bytes_; }
  /// Returns the value of the nearest ancestor that has one, or null. Used for rows whose parent is
  /// in a chunk without a known start address. Remembers the start address if possible.
#if __has_cpp_attribute(clang::preserve_most)
  [[gnu::noinline, clang::preserve_most]]  // lets a loop over rows keep its registers
#else
  [[gnu::noinline]]
#endif
  const std::byte*
  value_above(std::uint32_t row) {
    const Entity parent = chunk_->parents()[row];
    if (parent.bits() != last_parent_) {
      learn(*storage_->find(parent).chunk);  // parents are alive
      last_parent_ = parent.bits();
      last_ = search_.find(*storage_, *chunk_, row);
    }
    return last_;
  }

 private:
  [[gnu::noinline]] void forget(const Storage& storage) {
    for (const std::uint32_t number : known_) starts_[number] = 0;
    known_.clear();
    starts_.resize(storage.chunk_numbers());
    stamp_ = storage.stamp();
  }
  void learn(const Chunk& chunk) {
    std::uintptr_t& start = starts_[chunk.number];
    if (start == no_start) return;
    const Archetype& archetype = *chunk.archetype;
    const std::uint16_t column = archetype.presence(type_) == no_column ? archetype.column(type_) : no_column;
    known_.push_back(chunk.number);
    start = no_start;
    if (column == no_column) return;
    bytes_ = archetype.slot_types[column]->size;
    start =
        reinterpret_cast<std::uintptr_t>(chunk.slots()[column].data) - std::uint64_t{chunk.locator(0).bits()} * bytes_;
  }

  const Storage* storage_ = nullptr;
  const Chunk* chunk_ = nullptr;
  TypeId type_;
  AncestorSearch search_;
  std::uint32_t bytes_ = 0;
  std::uint64_t stamp_ = 0;
  std::vector<std::uintptr_t> starts_;
  std::vector<std::uint32_t> known_;  // chunks with known start addresses

  // Cached because neighboring rows usually have the same parent.
  std::uint64_t last_parent_ = 0;  // 0 if there is none
  const std::byte* last_ = nullptr;
};

/// The start addresses and searches for all types that a single thread uses.
class AllColumnStarts {
 public:
  /// Calls begin() on the start addresses of a type and returns them. The reference remains valid.
  ColumnStarts& of(const Storage& storage, const Chunk& chunk, TypeId type) {
    ColumnStarts& starts = of(type);
    starts.begin(storage, chunk);
    return starts;
  }

  /// Returns the search of this kind. The reference remains valid.
  [[gnu::noinline]] AncestorSearch& search(AncestorSearch::Kind kind, TypeId type, TypeId anchor) {
    for (AncestorSearch& search : searches_)
      if (search.kind() == kind && search.type() == type && search.anchor() == anchor) return search;
    return searches_.emplace_front(kind, type, anchor);
  }

 private:
  [[gnu::noinline]] ColumnStarts& of(TypeId type) {
    for (ColumnStarts& starts : types_)
      if (starts.type() == type) return starts;
    return types_.emplace_front(type);
  }
  std::forward_list<ColumnStarts> types_;
  std::forward_list<AncestorSearch> searches_;
};

}  // namespace muster
