// Names, unique per parent. The index from (parent, text) to entity; the names themselves are Name components. Children that
// come with their parent's tree are not in it until somebody looks for one of them to change it: most never are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "registry/storage/flat_map.h"
#include "registry/storage/hierarchy.h"
#include "registry/storage/text_table.h"
#include "schema/builtin.h"

namespace muster {

/// `/` and `\` inside a name are written `\/` and `\\` in a path.
std::string escape_name(std::string_view name);

class Names {
 public:
  explicit Names(const Hierarchy& hierarchy) noexcept : hierarchy_(hierarchy) {}

  /// The child of `parent` (nil: among the roots) that has this name; nil if none.
  Entity find(Entity parent, Text name) const noexcept {
    if (left_out(parent)) return search(parent, name);
    const Entity* known = by_name_.find({parent, name});
    return known ? *known : Entity{};
  }
  /// The same for who may ask again, with many children: takes them into the index first.
  Entity find(Entity parent, Text name) {
    if (left_out(parent)) take_in(parent);
    return std::as_const(*this).find(parent, name);
  }
  void add(Entity parent, Text name, Entity e) {
    if (!left_out(parent)) by_name_.put({parent, name}, e);
  }
  void remove(Entity parent, Text name, std::string_view bytes) noexcept {
    if (!left_out(parent)) remove_known(parent, name, bytes);
  }
  /// The children of `parent`, which is new, are not in the index. forget() must follow when it goes, or the last of them
  /// does. For at most `left_out_max` children: const reading looks through them.
  static constexpr std::uint32_t left_out_max = 32;
  void leave_out(Entity parent) { left_out_.put(parent.bits(), 1); }
  /// A parent has one child more: with too many to look through they are taken into the index.
  void child_came(Entity parent) {
    if (left_out(parent) && hierarchy_.children(parent) > left_out_max) take_in(parent);
  }
  /// An entity goes.
  void forget(Entity e) noexcept {
    if (left_out_.size()) left_out_.erase(e.bits());
  }
  /// `name` if free under `parent`, else with the smallest free suffix "~2", "~3", ...; interned.
  Text free_name(Entity parent, Text name, TextTable& texts);
  void clear() noexcept {
    by_name_.clear();
    left_out_.clear();
    next_suffix_.clear();
  }

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
  bool left_out(Entity parent) const noexcept { return left_out_.size() != 0 && left_out_.find(parent.bits()); }
  Entity search(Entity parent, Text name) const noexcept;
  void take_in(Entity parent);
  void remove_known(Entity parent, Text name, std::string_view bytes) noexcept;

  const Hierarchy& hierarchy_;
  FlatMap<Key, Entity, KeyHash> by_name_;
  FlatMap<std::uint64_t, std::uint8_t> left_out_;     // a set of parents, by bits
  FlatMap<Key, std::uint32_t, KeyHash> next_suffix_;  // every smaller suffix is taken
};

}  // namespace muster
