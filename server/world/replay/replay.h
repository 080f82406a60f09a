// Does the inputs of a slice again, and finds handlers that do not give the same result twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/moments/synctest.h"
#include "server/world/file/world_error.h"
#include "server/world/replay/slice.h"
#include "server/world/replay/tick_hashes.h"

namespace muster {

struct ReplayOptions {
  std::string code = {};                      ///< as WorldOptions::code
  std::uint64_t to_tick = ~std::uint64_t{0};  ///< the replay ends after this tick
  /// If true, every tick is done twice and compared (Synctest), and a second registry does the same
  /// inputs on one worker and is compared after every tick (TwinTest).
  bool check = false;
  std::uint32_t workers = 1;  ///< number of threads for passes; 0 means one per processor
  /// Hashes that were recorded while the inputs were live. The first tick whose hashes differ is
  /// reported.
  std::vector<TickHash> hashes = {};
  /// If true, inputs are replayed even if another build recorded them. The results may then differ
  /// from the recorded world.
  bool any_code = false;
  /// Returns a function like `install` whose code has static variables of its own, for the second
  /// registry. Called several times, and from another thread. The code is needed until the returned
  /// function is destroyed. If it is null, `install` is called for both.
  std::function<std::function<Handlers(EntityRegistry&)>()> install_again = {};
};

struct ReplayDifference {
  std::uint64_t tick = 0;  ///< the tick in which the difference arose; 0 before the first tick
  SyncDifference found;
  std::string text() const;
};

struct ReplayReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t sequence = 0, tick = 0;  ///< of the last input
  std::uint64_t hash = 0;                ///< of the state after it
  std::uint64_t inputs = 0, ticks = 0;   ///< that were replayed
  std::uint64_t compared = 0;            ///< inputs that were done twice (ReplayOptions::check)
  std::uint64_t hashes = 0;              ///< ticks with recorded hashes, which were compared
  /// The first difference of each field that a handler of a message writes, at most listed_max.
  std::vector<ReplayDifference> differences;
  /// Reasons why ticks were not done twice, each once.
  std::vector<std::string> not_compared;
};

/// Subscribes handlers in an empty registry, like World::Install. Called twice if results are
/// compared.
using ReplayInstall = std::function<Handlers(EntityRegistry&)>;

/// Loads the state of a slice and replays its inputs. Fails if the state or a record cannot be
/// read, if `install` throws, and, unless `any_code` is true, if another build recorded the inputs.
/// Errors name `path`, which is not opened.
[[nodiscard]] std::expected<ReplayReport, WorldError> replay(const std::string& path, const Slice& slice,
                                                             const ReplayInstall& install,
                                                             const ReplayOptions& options = {});

}  // namespace muster
