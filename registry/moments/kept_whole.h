// The parts of a moment that are copied as a whole, because they are small or usually empty, and
// the templates, which moments share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "messages/arena.h"
#include "registry/apply/registry_state.h"

namespace muster {

/// The batches of an arena.
struct KeptBatches {
  std::vector<std::vector<std::byte>> batches;
  bool open = false;  ///< true if the last one can be extended
  static KeptBatches of(const Arena& arena);
  void put(Arena& arena) const;
  std::size_t bytes() const noexcept;
};

struct KeptTemplate {
  std::shared_ptr<const Template> what;
  std::vector<std::byte> batch;
  std::uint64_t version = 0;
};
using KeptTemplates = std::map<Text, std::shared_ptr<const KeptTemplate>>;

/// Keeps the templates of moments. Templates that do not change are copied once.
class TemplateKeeper {
 public:
  struct Kept {
    std::shared_ptr<const KeptTemplates> all;
    std::uint64_t changes = 0;  ///< TemplateTable::changes()
  };
  Kept keep(const TemplateTable& table);
  /// Templates that are put back get this version. Returns true if any template changed.
  static bool put(const Kept& kept, TemplateTable& table, std::uint64_t version);
  void clear() { last_ = {}; }

 private:
  Kept last_;
};

/// Everything that is copied for each moment.
struct KeptScalars {
  std::vector<Text> disabled;
  KeptBatches input, cascade;
  BatchCursor cursor;
  std::uint64_t sequence = 0, now_ns = 0, next_timer = 0;
  RegistryCounters counters;
  CascadeBounds bounds;
  std::uint32_t resumed = 0;
  static KeptScalars of(const RegistryState& state);
  /// Restores everything except the disabled handlers.
  void put(RegistryState& state) const;
  std::size_t bytes() const noexcept { return input.bytes() + cascade.bytes() + disabled.size() * sizeof(Text); }
};

}  // namespace muster
