// Reads a model in a child process: what the file does to its reader ends that process alone.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "client/import/model.h"

namespace muster {

/// Limits on the child, all above 0.
struct ProcessLimits {
  std::uint64_t memory_bytes;             ///< beyond what the calling process has now
  std::uint32_t seconds;                  ///< of processor time; three times that by the wall clock
  std::uint64_t answer_bytes = 1u << 30;  ///< of the model, as it comes through the pipe
};

/// Calls `read` in a forked child and returns what it returns. The reason is that of the exception
/// it threw, or says which limit it exceeded or which signal ended it. The child has /dev/null for
/// its standard streams and the default action for all signals; it ends with the caller.
std::expected<ImportedModel, std::string> read_apart(const std::function<ImportedModel()>& read,
                                                     const ProcessLimits& limits);

}  // namespace muster
