// muster-server --replay, which `muster replay` runs: does the inputs of a world file or a slice
// again with the given plugins, and serves nothing.
#pragma once

#include <cstdint>
#include <string>

#include "server/world/replay/replay.h"

namespace CLI {
class App;
}

namespace muster {

struct ReplayCommand {
  bool wanted = false;
  std::string file;  ///< a world file that no process has open, or a slice
  /// If results differ, a slice is written to this new file. If it is empty, a slice of a world
  /// file is written to FILE-differs.slice, unless that exists.
  std::string slice;
  std::string hashes;  ///< if not empty, a file that TickHashLog wrote
  bool json = false;
  ReplayOptions options;
};

/// Adds --replay and the options that need it. `command` must outlive the parsing.
void add_replay_options(CLI::App& app, ReplayCommand& command);

/// Prints an error as `muster` does, and returns its exit code for a file that cannot be read.
int replay_refused(const ReplayCommand& command, const std::string& text);

/// Prints to stdout what was compared and what differs, and writes a slice if anything does. Errors
/// are printed, too. Returns an exit code of `muster`: 0 if no difference was found or no
/// comparison was asked for, 1 if something differs, 4 if the file cannot be read or replayed, 5 if
/// the output could not be written, and 6 if there were no inputs, or if a comparison was asked for
/// and nothing could be compared.
int run_replay(const ReplayCommand& command, const ReplayInstall& install);

}  // namespace muster
