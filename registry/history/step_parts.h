// Collects the parts of a step, joining those that concern the same place.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "registry/history/parts.h"

namespace muster::history {

/// A field is joined unless its component was added or removed in between, or its entity destroyed
/// and revived. A move or a new name is joined only if nothing else was created, destroyed, moved
/// or renamed in between, because the places and names of siblings depend on each other. Otherwise,
/// the inverses of the parts, applied in reverse order, would not restore the state. Parts that
/// have become idle are not in between.
class StepParts {
 public:
  /// Adds parts to `step`, which must outlive this object. Existing parts are taken into account.
  /// `revives` is true for an undo or redo, in which destroyed entities can be edited again.
  explicit StepParts(Step& step, bool revives = false);
  /// Adds a part. Calls `changing(const Part&)` before an existing part changes, and
  /// `changed(const Part&)` after it changed or was added.
  template <class Changing, class Changed>
  void add(Part part, Changing changing, Changed changed) {
    Part* const known = find(part);
    if (!known) {
      step_.parts.push_back(std::move(part));
      know(static_cast<std::uint32_t>(step_.parts.size() - 1));
      changed(step_.parts.back());
      return;
    }
    changing(*known);
    join(*known, std::move(part));
    changed(*known);
  }
  void add(Part part) {
    add(std::move(part), [](const Part&) {}, [](const Part&) {});
  }

 private:
  struct Key {
    std::uint64_t entity;
    TypeId component;
    std::uint32_t offset;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return (key.entity * 0x9e3779b97f4a7c15ull ^ key.component) * 0xff51afd7ed558ccdull ^ key.offset;
    }
  };
  static constexpr std::uint32_t none = ~0u;

  Part* find(const Part& part);
  void know(std::uint32_t number);
  static void join(Part& known, Part part);

  Step& step_;
  bool revives_;
  // Numbers of the newest parts: of each property, of those that added or removed each component,
  // and of each template.
  std::unordered_map<Key, std::uint32_t, Hash> fields_, components_;
  std::unordered_map<std::string, std::uint32_t> templates_;
  std::uint32_t last_destroyed_ = none;
  // Numbers of the parts that created, destroyed, moved or renamed, without those that have become
  // idle and are followed by another one of these.
  std::vector<std::uint32_t> structural_;
};

}  // namespace muster::history
