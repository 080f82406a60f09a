// Supplies the answers to /health and /metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "server/desk/desk.h"
#include "server/web/site.h"

namespace muster {

/// Calls a function after a time, on the thread that serves HTTP.
using CallLater = std::function<void(std::chrono::nanoseconds, std::function<void()>)>;

/// Returns a function that asks the world for its figures, and answers with status 503 if the world
/// does not supply them within two seconds. `connections` returns the number of open connections of
/// all kinds, and `drains` returns true if the server will stop soon. `more` returns further lines
/// for /metrics. The function must be called on the thread that serves HTTP; `desk` must outlive
/// it.
Site::AskFigures asked_figures(Desk& desk, CallLater call_later, std::function<std::uint32_t()> connections,
                               std::function<bool()> drains = {}, std::function<std::string()> more = {});

}  // namespace muster
