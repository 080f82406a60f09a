// A sink that counts what it is told, for tests that ask whether a registry with a sink does the same as one without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "registry/entity_registry.h"

namespace game {

struct CountedBytes final : muster::InputSink {
  std::uint64_t bytes = 0;
  void on_input(const muster::Envelope&, std::span<const std::byte> batch) override { bytes += batch.size(); }
};

}  // namespace game
