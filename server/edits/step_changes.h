// Predicts the changes of a Step's batches, because a Step is judged before any of its batches is
// applied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "registry/apply/template.h"
#include "registry/entity_registry.h"

namespace muster {

/// Never underestimates how deep an entity will be. Changes that the world will refuse have no
/// effect. Must be used only on the world thread, between inputs.
class StepChanges {
 public:
  explicit StepChanges(const EntityRegistry& registry) : registry_(registry) {}

  /// Returns the depth of an entity, or 0 if it does not exist.
  std::uint64_t depth(Entity e);
  /// Returns the depth of a child of `parent`, which may be nil.
  std::uint64_t depth_below(Entity parent) { return parent ? depth(parent) + 1 : 0; }
  /// Returns the number of levels below an entity. `height` is their number in the world.
  std::uint64_t height(Entity e, std::uint64_t height) const {
    const auto at = below_.find(e);
    return at == below_.end() ? height : std::max<std::uint64_t>(height, at->second);
  }
  void create(Entity e, Entity parent) {
    ++made_;
    if (!exists(e) && (!parent || exists(parent))) put(e, parent, 0);
  }
  /// `ids` contains the ids of one or more trees.
  void spawn(const Template& what, std::span<const Entity> ids, Entity parent);
  void merge(const Template& what, std::span<const Entity> ids);
  /// Moves an entity that has `height` levels below it in the world.
  void move(Entity e, Entity parent, std::uint64_t height) {
    if (!exists(e) || (parent && !exists(parent))) return;
    for (Entity at = parent; at; at = this->parent(at))
      if (at == e) return;
    put(e, parent, this->height(e, height));
  }
  /// Returns false if the text was already added.
  bool add_text(std::string_view text) { return texts_.emplace(text_of(text).hash, text.size()).second; }
  std::size_t text_bytes(Text text) const {
    const auto at = texts_.find(text.hash);
    return at == texts_.end() ? registry_.text(text).size() : at->second;
  }
  void define(Text name) { defined_.insert(name.hash); }
  bool defines(Text name) const { return defined_.contains(name.hash); }

  /// The number of entities created, and of templates defined.
  std::uint64_t made() const noexcept { return made_; }
  std::uint64_t defined() const noexcept { return defined_.size(); }
  /// Returns the cost of what was called since the previous call of this function, in steps of a
  /// server (server/session/steps.h).
  std::uint64_t take_steps() noexcept { return std::exchange(visited_, visited_ % 4) / 4; }
  std::uint64_t row_bytes = 0, template_bytes = 0;  ///< as in EditCost

 private:
  bool exists(Entity e) const { return parents_.contains(e) || registry_.alive(e); }
  Entity parent(Entity e) {
    ++visited_;
    const auto at = parents_.find(e);
    return at != parents_.end() ? at->second : registry_.alive(e) ? registry_.parent(e) : Entity{};
  }
  /// Places an entity that has `height` levels below it.
  void put(Entity e, Entity parent, std::uint64_t height);

  const EntityRegistry& registry_;
  std::unordered_map<Entity, Entity> parents_;            // of entities that were created or moved
  std::unordered_map<Entity, std::uint64_t> below_;       // levels below entities that got some
  std::unordered_map<std::uint64_t, std::size_t> texts_;  // sizes of added texts, by hash
  std::unordered_set<std::uint64_t> defined_;
  std::uint64_t made_ = 0, visited_ = 0;
};

}  // namespace muster
