// The journal of a world file, as people and programs read it.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "server/world/world_error.h"

namespace muster {

struct JournalChoice {
  std::uint64_t from = 0;       ///< inputs of smaller sequences are passed over
  std::uint64_t lines = ~0ull;  ///< after so many inputs and ticks it ends
  bool json = false;            ///< one object per input, tick or schema; else lines under a headline for each group
};

struct JournalShown {
  std::uint64_t groups = 0;    ///< behind the checkpoint
  std::uint64_t sequence = 0;  ///< of the checkpoint, before which the file has no inputs
};

/// Gives `print` a line at a time, without its newline. What the journal has is judged as recovery does, and nothing is done again: entities
/// are ids, and texts are told as far as the checkpoint or the journal itself names them.
[[nodiscard]] std::expected<JournalShown, WorldError> show_journal(
    const std::string& path, const JournalChoice& choice, const std::function<void(const std::string&)>& print);

}  // namespace muster
