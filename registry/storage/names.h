// Finds children by name. Names are unique among the children of a parent. The names themselves are
// Name components; Names is the index from (parent, text) to entity. Children that were created in
// one tree together with their parent are initially left out of the index, because most of them are
// never looked up. Such children are added by the first lookup that is allowed to change the index.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/storage/flat_map.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/text_table.h"
#include "schema/builtin.h"

namespace muster {

/// Escapes a name for use in a path: `/` and `\` become `\/` and `\\`.
std::string escape_name(std::string_view name);

/// The free suffixes of a single name, such as 2 and 3 in "orc~2" and "orc~3". Callers repeatedly
/// need the smallest free suffix, and any suffix may become free. Free suffixes are stored as bits,
/// so that the smallest one can be found without testing suffixes that are taken.
///
/// Every suffix below end() has been taken or given back. Suffixes that were taken by other means
/// are unknown until one of them is tried; the caller must then call take().
class FreeSuffixes {
 public:
  static constexpr std::uint32_t first = 2;
  /// Returns the smallest suffix that may be free.
  std::uint32_t smallest() const noexcept {
    if (given_back_ == 0) return end_;
    std::size_t word = first_word_;
    while (free_[word] == 0) ++word;
    return static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(free_[word]));
  }
  /// Marks smallest() as taken.
  void take() {
    if (given_back_ == 0) {
      // Allocate memory now, so that give_back() does not have to.
      if (++end_ > free_.size() * 64) free_.push_back(0);
      return;
    }
    while (free_[first_word_] == 0) ++first_word_;
    free_[first_word_] &= free_[first_word_] - 1;
    --given_back_;
  }
  void give_back(std::uint32_t suffix) noexcept {
    if (suffix < first || suffix >= end_) return;
    const std::size_t word = suffix / 64;
    const std::uint64_t bit = std::uint64_t{1} << suffix % 64;
    if (free_[word] & bit) return;
    free_[word] |= bit;
    if (given_back_++ == 0 || word < first_word_) first_word_ = word;
  }
  /// True if the object is in the same state as a new one.
  bool empty() const noexcept { return given_back_ == end_ - first; }

 private:
  std::uint32_t end_ = first;
  std::uint32_t given_back_ = 0;
  std::size_t first_word_ = 0;  // if any word has a bit set: no word before this index has one
  std::vector<std::uint64_t> free_;
};

class Names {
 public:
  explicit Names(const Hierarchy& hierarchy) noexcept : hierarchy_(hierarchy) {}

  /// Returns the child of `parent` with this name, or nil. If `parent` is nil, searches the roots.
  /// Also searches children that were left out.
  Entity find(Entity parent, Text name) const noexcept {
    if (left_out(parent)) return search(parent, name);
    const Entity* known = by_name_.find({parent, name});
    return known ? *known : Entity{};
  }
  /// Returns the child of `parent` with this name, or nil. Adds children that were left out to the
  /// index, so that the next lookup is fast.
  Entity find(Entity parent, Text name) {
    if (left_out(parent)) take_in(parent);
    return std::as_const(*this).find(parent, name);
  }
  void add(Entity parent, Text name, Entity e) {
    if (!left_out(parent)) by_name_.put({parent, name}, e);
  }
  /// Adds a name unless a child of `parent` has it. Returns true if it was added.
  bool add_new(Entity parent, Text name, Entity e) {
    if (left_out(parent)) take_in(parent);
    return by_name_.put_new({parent, name}, e);
  }
  void prefetch(Entity parent, Text name) const noexcept { by_name_.prefetch({parent, name}); }
  void remove(Entity parent, Text name, std::string_view bytes) noexcept {
    if (!left_out(parent)) remove_known(parent, name, bytes);
  }
  /// Leaves the children of a new `parent` out of the index. There may be at most left_out_max
  /// children, because const lookups scan them. forget(parent) must be called when the parent or
  /// the last of these children is removed.
  static constexpr std::uint32_t left_out_max = 32;
  void leave_out(Entity parent) {
    const std::size_t word = parent.index / 64;
    if (word >= left_out_.size()) left_out_.resize(word + 1 + word / 8);
    left_out_[word] |= bit(parent);
  }
  /// Must be called when `parent` has gained a child. If its children are now too many to scan,
  /// adds them to the index.
  void child_came(Entity parent) {
    if (left_out(parent) && hierarchy_.children(parent) > left_out_max) take_in(parent);
  }
  /// Must be called when `e` is removed.
  void forget(Entity e) noexcept {
    if (const std::size_t word = e.index / 64; word < left_out_.size()) left_out_[word] &= ~bit(e);
  }
  /// Returns a name that no child of `parent` has: either `name` itself, or `name` with the
  /// smallest free suffix ("~2", "~3", ...). Interns the result.
  Text free_name(Entity parent, Text name, TextTable& texts);
  void clear() noexcept {
    by_name_.clear();
    left_out_.clear();
    suffixes_.clear();
  }
  /// Exchanges all contents with another index. The two hierarchies must be swapped, too.
  void swap(Names& other) noexcept {
    std::swap(by_name_, other.by_name_);
    left_out_.swap(other.left_out_);
    std::swap(suffixes_, other.suffixes_);
    std::swap(tried_, other.tried_);
  }
  /// Returns the number of names that free_name() has tried, plus approximately the number of names
  /// with known suffixes. Used by complexity tests.
  std::uint64_t tried() const noexcept { return tried_; }
  std::size_t suffixed() const noexcept { return suffixes_.size(); }

 private:
  struct Key {
    Entity parent;
    Text name;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return key.parent.bits() * 0xff51afd7ed558ccdull ^ key.name.hash;
    }
  };
  static std::uint64_t bit(Entity e) noexcept { return std::uint64_t{1} << e.index % 64; }
  bool left_out(Entity parent) const noexcept {
    const std::size_t word = parent.index / 64;
    return word < left_out_.size() && (left_out_[word] & bit(parent)) != 0 && hierarchy_.alive(parent);
  }
  Entity search(Entity parent, Text name) const noexcept;
  void take_in(Entity parent);
  void remove_known(Entity parent, Text name, std::string_view bytes) noexcept;

  const Hierarchy& hierarchy_;
  FlatMap<Key, Entity, KeyHash> by_name_;
  std::vector<std::uint64_t> left_out_;           // one bit for each parent's index
  FlatMap<Key, FreeSuffixes, KeyHash> suffixes_;  // suffixes of names that siblings would share
  std::uint64_t tried_ = 0;
};

}  // namespace muster
