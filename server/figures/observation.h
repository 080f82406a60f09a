// Shares the registry's observation among several users. The registry is observed as long as at
// least one of them needs it.
#pragma once

#include <cstdint>

#include "registry/entity_registry.h"
#include "registry/profile.h"

namespace muster {

/// Must be used only on the world thread, between inputs. The registry must outlive this object.
class Observation {
 public:
  explicit Observation(EntityRegistry& registry) : registry_(registry) {}
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  /// Starts observing the registry. If the host itself already observes the registry, does nothing
  /// and returns false. Each successful call must be matched by a call to end().
  [[nodiscard]] bool begin() {
    if (users_ == 0) {
      if (registry_.profile().observing()) return false;
      registry_.profile().observe(true);
    }
    ++users_;
    return true;
  }
  void end() {
    if (--users_ == 0) registry_.profile().observe(false);
  }

 private:
  EntityRegistry& registry_;
  std::uint32_t users_ = 0;
};

}  // namespace muster
