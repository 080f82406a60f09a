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
#include "server/world/replay/slice.h"
#include "server/world/replay/tick_hashes.h"
#include "server/world/store/world_error.h"

namespace muster {

struct ReplayOptions {
  std::string code = {};                      ///< as WorldOptions::code
  std::uint64_t to_tick = ~std::uint64_t{0};  ///< the replay ends after this tick
  /// If true, every tick is done twice and compared (Synctest), and a second registry does the same
  /// inputs on one worker and is compared after every tick (TwinTest).
  bool check = false;
  std::uint32_t workers = 1;  ///< number of threads for passes; 0 means one per processor
  /// Hashes that were recorded while the inputs were live, in addition to those of the slice. The
  /// first tick whose hashes differ is reported.
  std::vector<TickHash> hashes = {};
  /// If true, inputs are replayed even if another build recorded them. The results may then differ
  /// from the recorded world.
  bool any_code = false;
  /// Returns a function like `install` whose code has static variables of its own, for the second
  /// registry. Called several times, and from another thread. The code is needed until the returned
  /// function is destroyed. If it is null, `install` is called for both.
  std::function<std::function<Handlers(EntityRegistry&)>()> install_again = {};
};

/// The other result of a comparison.
enum class ComparedWith : std::uint8_t {
  repetition,       ///< the result of the same inputs in the same registry
  second_registry,  ///< the result of the same inputs in another registry
  recorded_hashes,  ///< the hashes of a tick that the world itself had
  recorded_state,   ///< a state that the world itself had
};
/// Returns "repetition", "second registry", "recorded hashes" or "recorded state".
const char* name(ComparedWith with) noexcept;

struct ReplayDifference {
  std::uint64_t tick = 0;  ///< the tick in which the difference arose; 0 before the first tick
  SyncDifference found;
  ComparedWith with = ComparedWith::repetition;
  std::string text() const;
};

/// Inputs, and the ticks to which they belong. A tick begins with its Advance. The inputs before
/// the first one belong to no tick that is counted.
struct ReplayCount {
  std::uint64_t inputs = 0, ticks = 0;
};

struct ReplayReport {
  static constexpr std::size_t listed_max = 64;
  std::uint64_t sequence = 0, tick = 0;  ///< of the last input
  std::uint64_t hash = 0;                ///< of the state after it
  std::uint64_t inputs = 0, ticks = 0;   ///< that were replayed

  /// The inputs that were done twice, and those that were compared with the second registry
  /// (ReplayOptions::check). Each tick is compared as a whole.
  ReplayCount twice, second;
  std::uint64_t hashes = 0;  ///< ticks whose hashes were compared with recorded ones
  std::uint64_t states = 0;  ///< states that were compared with recorded ones
  /// Numbers of recorded hashes and states for these inputs, whether or not they were compared.
  std::uint64_t recorded_hashes = 0, recorded_states = 0;
  bool compared_anything() const noexcept { return twice.inputs + second.inputs + hashes + states > 0; }
  bool compared_with_recorded() const noexcept { return hashes + states > 0; }

  /// The first difference of each field that a handler of a message writes, at most listed_max.
  std::vector<ReplayDifference> differences;
  ReplayCount not_twice;  ///< that were not done twice although ReplayOptions::check is true
  /// Reasons why not everything was compared, each once.
  std::vector<std::string> not_compared;
  /// The build that recorded the inputs, if it is another one than this (ReplayOptions::any_code),
  /// and this one.
  std::string recorded_by, replayed_by;
};

/// Subscribes handlers in an empty registry, like World::Install. Called twice if results are
/// compared.
using ReplayInstall = std::function<Handlers(EntityRegistry&)>;

/// Loads the state of a slice and replays its inputs. Fails if the state or a record cannot be
/// read, if `install` throws, if there are no handlers although the inputs were recorded with some,
/// and, unless `any_code` is true, if another build recorded them. Errors name `path`, which is not
/// opened.
[[nodiscard]] std::expected<ReplayReport, WorldError> replay(const std::string& path, const Slice& slice,
                                                             const ReplayInstall& install,
                                                             const ReplayOptions& options = {});

}  // namespace muster
