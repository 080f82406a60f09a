// Figures as monitors read them.
#pragma once

#include <string>

#include "server/session/figures.h"

namespace muster {

/// The text format of Prometheus, version 0.0.4. `connections`: open now, sessions and others.
std::string metrics_text(const Figures& figures, std::uint32_t connections);

/// A line of what /health says of a world that answers: "ok", or what is wrong with its disk.
std::string health_text(const Figures& figures);

}  // namespace muster
