// Prints the journal of a world file as text or JSON.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "server/world/store/world_error.h"

namespace muster {

struct JournalChoice {
  std::uint64_t from = 0;       ///< inputs with smaller sequence numbers are skipped
  std::uint64_t lines = ~0ull;  ///< limit on the number of inputs and ticks

  /// If true, prints one JSON object per input, tick, or schema. Otherwise, prints lines of text,
  /// arranged by group.
  bool json = false;
};

struct JournalShown {
  std::uint64_t groups = 0;    ///< number of journal groups after the checkpoint
  std::uint64_t sequence = 0;  ///< sequence number of the checkpoint; the file has only later
                               ///< inputs
};

/// Calls `print` for each line, without its newline. Verifies the journal in the same way as
/// recovery does, but does not replay it. Therefore, entities are shown as ids, and only interned
/// texts in the checkpoint or in the journal are known.
[[nodiscard]] std::expected<JournalShown, WorldError> show_journal(
    const std::string& path, const JournalChoice& choice, const std::function<void(const std::string&)>& print);

}  // namespace muster
