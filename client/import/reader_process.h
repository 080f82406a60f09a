// Reads a model in a child process, so that a file that crashes its reader ends only that process.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "client/import/model.h"

namespace muster {

/// Limits on the child. All are above 0.
struct ProcessLimits {
  std::uint64_t memory_bytes;             ///< beyond the calling process's current use
  std::uint32_t seconds;                  ///< of processor time; the limit on wall time is triple
  std::uint64_t answer_bytes = 1u << 30;  ///< limit on the model's size in the pipe
};

/// Calls `read` in a forked child, and returns its result. On failure, returns the message of the
/// exception it threw, or says which limit it exceeded or which signal ended it. The child has
/// /dev/null as its standard streams and the default action for all signals, and it ends with the
/// caller.
std::expected<ImportedModel, std::string> read_apart(const std::function<ImportedModel()>& read,
                                                     const ProcessLimits& limits);

}  // namespace muster
