// What a world's file has recorded, and what one registry makes of it that was never interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/history/edit_history.h"
#include "server/plugins/plugins.h"

namespace muster::test {

/// Behind the state in a world's file.
struct Recorded {
  std::uint64_t saved = 0;               ///< through which the state is in the file
  std::uint64_t durable = 0;             ///< sequence of the last input in it
  std::uint64_t edits = 0, ticks = 0;    ///< in the journal: inputs of sessions, ticks
  std::vector<std::uint64_t> asks = {};  ///< sequences of counter.Ask in it
};

/// Reads a world that nobody has open. Throws where it is not whole.
Recorded read_recorded(const std::string& path);

/// A registry that does the inputs of a journal as they were, one life of the world behind the other. It takes the state from the file only
/// where that is ahead of it: where inputs came and went with a save that it never saw.
class ReplayedWorld {
 public:
  explicit ReplayedWorld(const std::string& plugin) { plugins_.load(plugin); }
  /// Goes on with what the file has behind what is here, up to the input `last` at most. Throws where it is not whole.
  void go_on(const std::string& path, std::uint64_t last = ~std::uint64_t{0});
  std::uint64_t sequence() const noexcept { return registry_->sequence(); }
  std::uint64_t hash() const { return registry_->hash(); }
  /// How many ids are granted and not used.
  std::uint64_t granted() const;

  std::uint64_t inputs = 0;     ///< that were done again
  std::uint64_t loads = 0;      ///< how often the state was taken from the file
  std::uint64_t goings_on = 0;  ///< how often it was not

 private:
  Plugins plugins_;  // goes after the registry
  std::optional<EntityRegistry> registry_;
  std::optional<EditHistory> history_;  // so that edits park the ids that they destroy
  Handlers handlers_;
};

}  // namespace muster::test
