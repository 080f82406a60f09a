// muster-server --replay, which `muster replay` runs: does the inputs of a world file or a slice
// again with the given plugins, and serves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/world/replay/replay.h"

namespace muster {

struct ReplayCommand {
  std::string file;   ///< a world file that no process has open, or a slice
  std::string slice;  ///< if not empty, a slice is written here if results differ
  bool json = false;
  ReplayOptions options;
};

/// The result of a replay, apart from errors.
enum class ReplayEnd : std::uint8_t { same, differs };

/// Prints the result to stdout. The error is a sentence.
[[nodiscard]] std::expected<ReplayEnd, WorldError> run_replay(const ReplayCommand& command,
                                                              const ReplayInstall& install);

}  // namespace muster
