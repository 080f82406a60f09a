// Writes figures for monitors.
#pragma once

#include <string>

#include "server/session/figures.h"

namespace muster {

/// Returns the figures in the text format of Prometheus, version 0.0.4. `connections` is the number
/// of open ones, sessions and others.
std::string metrics_text(const Figures& figures, std::uint32_t connections);

/// Returns the line of /health for a world that answers: "ok", or the error of its disk.
std::string health_text(const Figures& figures);

}  // namespace muster
