#include "server/world/store/world_error.h"

#include <utility>

namespace muster {

const char* name(WorldErrorCode code) noexcept {
  switch (code) {
    case WorldErrorCode::missing: return "missing";
    case WorldErrorCode::exists: return "exists";
    case WorldErrorCode::in_use: return "in_use";
    case WorldErrorCode::not_a_world: return "not_a_world";
    case WorldErrorCode::newer: return "newer";
    case WorldErrorCode::older: return "older";
    case WorldErrorCode::damaged: return "damaged";
    case WorldErrorCode::denied: return "denied";
    case WorldErrorCode::disk_full: return "disk_full";
    case WorldErrorCode::io: return "io";
    case WorldErrorCode::incompatible: return "incompatible";
    case WorldErrorCode::setup: return "setup";
    case WorldErrorCode::stopped: return "stopped";
    case WorldErrorCode::too_large: return "too_large";
    case WorldErrorCode::displaced: return "displaced";
    case WorldErrorCode::left_behind: return "left_behind";
  }
  return "?";
}

WorldError::WorldError(WorldErrorCode code, std::string path, std::string detail)
    : std::runtime_error(path + ": " + detail), code_(code), path_(std::move(path)), detail_(std::move(detail)) {}

}  // namespace muster
