// Names, unique per parent. The index from (parent, text) to entity; the names themselves are Name components.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "registry/flat_map.h"
#include "registry/text_table.h"
#include "schema/builtin.h"

namespace muster {

/// `/` and `\` inside a name are written `\/` and `\\` in a path.
std::string escape_name(std::string_view name);

class Names {
 public:
  /// The child of `parent` (nil: among the roots) that has this name; nil if none.
  Entity find(Entity parent, Text name) const noexcept {
    const Entity* known = by_name_.find({parent, name});
    return known ? *known : Entity{};
  }
  void add(Entity parent, Text name, Entity e) { by_name_.put({parent, name}, e); }
  void remove(Entity parent, Text name, std::string_view bytes) noexcept;
  /// `name` if free under `parent`, else with the smallest free suffix "~2", "~3", ...; interned.
  Text free_name(Entity parent, Text name, TextTable& texts);
  void clear() noexcept {
    by_name_.clear();
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
  FlatMap<Key, Entity, KeyHash> by_name_;
  FlatMap<Key, std::uint32_t, KeyHash> next_suffix_;  // every smaller suffix is taken
};

}  // namespace muster
