// The state of a registry as it will be after some edits that have not been applied yet. Reads the
// registry wherever these edits have changed nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "registry/history/edit_history.h"
#include "registry/history/rows_now.h"

namespace muster::history {

class Overlay {
 public:
  /// Unless `sight` is null, what it does not see is not alive, and no one's sibling.
  explicit Overlay(const RowsNow& now, const HistorySight* sight = nullptr) noexcept : now_(now), sight_(sight) {}

  bool alive(Entity e) const;
  Entity parent(Entity e) const;
  Place place(Entity e) const;
  /// Returns the sibling after `e`.
  Entity next(Entity e) const { return place(e).next; }
  Entity first_child(Entity e) const;
  /// Returns `sibling` if it is alive, and otherwise the nearest sibling behind it, or before it,
  /// that is.
  Entity seen_from(Entity sibling) const;
  Entity seen_back_from(Entity sibling) const;
  bool is_below(Entity e, Entity top) const;
  std::string_view name(Entity e) const;
  Entity child(Entity parent, std::string_view name) const;
  std::optional<std::span<const std::byte>> value(Entity e, TypeId component) const;
  /// Calls f(Entity) for `top` and its descendants until it returns false.
  template <class F>
  void subtree(Entity top, F f) const {
    std::vector<Entity> open{top};
    while (!open.empty()) {
      const Entity e = open.back();
      open.pop_back();
      if (!f(e)) return;
      for (Entity child = first_child(e); child; child = next(child)) open.push_back(child);
    }
  }

  // --- edits ---

  void move(Entity e, Entity parent, Entity before);
  void rename(Entity e, std::string_view name);
  void put(Entity e, TypeId component, std::span<const std::byte> value);
  /// Writes a part of a component that the entity has.
  void write(Entity e, TypeId component, std::uint32_t offset, std::string_view bytes);
  void remove(Entity e, TypeId component);
  /// Destroys an entity and its subtree.
  void destroy(Entity e);
  /// Creates the rows of a snapshot. The root gets this parent, next sibling, and name.
  void revive(const Snapshot& snapshot, Entity parent, Entity before, std::string_view name);

 private:
  struct Links {
    bool alive = false;
    Entity parent, next, previous, first, last;
  };
  struct ValueKey {
    std::uint64_t entity;
    TypeId component;
    friend bool operator==(const ValueKey&, const ValueKey&) = default;
  };
  struct ValueHash {
    std::size_t operator()(const ValueKey& key) const noexcept {
      return (key.entity * 0x9e3779b97f4a7c15ull ^ key.component) * 0xff51afd7ed558ccdull;
    }
  };
  struct NameKey {
    std::uint64_t parent, name;
    friend bool operator==(const NameKey&, const NameKey&) = default;
  };
  struct NameHash {
    std::size_t operator()(const NameKey& key) const noexcept { return key.parent * 0x9e3779b97f4a7c15ull ^ key.name; }
  };
  /// The row of a revived entity.
  struct Revived {
    const Snapshot* snapshot;
    std::uint32_t row;
  };

  Links links(Entity e) const;
  Links& change(Entity e);
  void link(Entity e, Entity parent, Entity before);
  void unlink(Entity e);
  void put_name(Entity parent, std::string_view name, Entity e);

  const RowsNow& now_;
  const HistorySight* const sight_;
  std::unordered_map<std::uint64_t, Links> links_;
  std::unordered_map<std::uint64_t, std::string> names_;    // changed names
  std::unordered_map<NameKey, Entity, NameHash> children_;  // changed children by name
  std::unordered_map<ValueKey, std::optional<std::string>, ValueHash> values_;
  std::unordered_map<std::uint64_t, Revived> revived_;
};

}  // namespace muster::history
