// Formats statistics for monitoring systems.
#pragma once

#include <string>

#include "server/figures/figures.h"

namespace muster {

/// Returns the statistics in the Prometheus text format, version 0.0.4. `connections` is the number
/// of open connections, including those that are not sessions.
std::string metrics_text(const Figures& figures, std::uint32_t connections);

/// Returns the line that /health serves if the world responds, which is either "ok" or the disk
/// error.
std::string health_text(const Figures& figures);

}  // namespace muster
