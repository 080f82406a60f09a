// Finds out whether another user has edited a place later than a part. Contains the parts of all
// steps that are on a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/history/parts.h"

namespace muster {
class HistorySight;
}

namespace muster::history {

class Places {
 public:
  void add(std::uint64_t user, const Part& part);
  /// Removes a part with the same members as when it was added.
  void remove(std::uint64_t user, const Part& part);
  void clear();

  // Each function returns the user other than `user` who made the newest edit of the place with a
  // higher sequence than `sequence`, or no value if there is none.

  using User = std::optional<std::uint64_t>;
  /// The property, including additions and removals of its component.
  User property(Entity e, TypeId component, std::uint32_t offset, std::uint64_t sequence, std::uint64_t user) const;
  User any_property(Entity e, TypeId component, std::uint64_t sequence, std::uint64_t user) const;
  /// Any part of the entity that `sight` sees. Sets `sequence` to that of the found edit.
  User entity(Entity e, std::uint64_t& sequence, std::uint64_t user, const HistorySight* sight) const;
  User moved(Entity e, std::uint64_t sequence, std::uint64_t user) const;
  User renamed(Entity e, std::uint64_t sequence, std::uint64_t user) const;
  User defined(std::string_view name, std::uint64_t sequence, std::uint64_t user) const;

 private:
  struct Edit {
    std::uint64_t sequence;
    TypeId component;
    std::uint32_t offset;
    PartKind kind;
    friend bool operator==(const Edit&, const Edit&) = default;
  };
  struct ByUser {
    std::uint64_t user;
    std::vector<Edit> edits;  // ascending by sequence
  };
  using Map = std::unordered_map<std::uint64_t, std::vector<ByUser>>;
  static Edit edit_of(const Part& part) noexcept { return {part.sequence, part.component, part.offset, part.kind}; }
  Map& map_of(const Part& part) { return part.kind == PartKind::defined ? templates_ : entities_; }
  static std::uint64_t key_of(const Part& part);
  template <class Matches>
  static User find(const Map& map, std::uint64_t key, std::uint64_t& sequence, std::uint64_t user, Matches matches);

  Map entities_, templates_;  // keyed by the bits of an entity, or by the hash of a template's name
};

}  // namespace muster::history
