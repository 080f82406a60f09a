// Reads a model in a child process, so that a file that crashes its reader cannot crash the caller.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "client/import/model.h"

namespace muster {

/// Limits on the child process. All limits must be greater than 0.
struct ProcessLimits {
  std::uint64_t memory_bytes;             ///< limit on the memory that the child uses in addition
                                          ///< to the caller's current memory
  std::uint32_t seconds;                  ///< limit on processor time; the limit on wall time is
                                          ///< three times this value
  std::uint64_t answer_bytes = 1u << 30;  ///< limit on the model's size as written to the pipe
};

/// Calls `read` in a forked child process and returns its result. On failure, returns the message
/// of the exception that `read` threw, or a message that names the limit that was exceeded or the
/// signal that terminated the child. The child has /dev/null as its standard streams and the
/// default action for all signals. The child is terminated when the caller ends.
std::expected<ImportedModel, std::string> read_apart(const std::function<ImportedModel()>& read,
                                                     const ProcessLimits& limits);

}  // namespace muster
