// A registry's saved rows in a map.
#pragma once

#include <map>
#include <vector>

#include "registry/state/state.h"

struct KeptRows final : muster::StateSink, muster::StateSource {
  std::map<muster::StateKey, std::vector<std::byte>> kept;
  void row(const muster::StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    kept[key].assign(bytes.begin(), bytes.end());
  }
  void rows(muster::StateSection section,
            const std::function<void(const muster::StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : kept)
      if (key.section == section) take(key, bytes);
  }
};
