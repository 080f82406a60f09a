// A battle without a world: what the tests step, save and compare.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "examples/skirmish/skirmish.h"
#include "registry/entity_registry.h"
#include "registry/state/state.h"
#include "schema/skirmish.h"

struct Battle {
  muster::EntityRegistry registry;
  muster::Handlers handlers = skirmish::install(registry);

  Battle() = default;
  explicit Battle(std::uint32_t entities, float distance = 90, muster::RegistryOptions options = {})
      : registry(options) {
    skirmish::define_squads(registry);
    registry.push(skirmish::Deploy{.entities = entities, .distance = distance});
  }
  /// As the world's frames do it: the clock first, then the pass.
  void run(std::uint32_t ticks) {
    for (std::uint32_t i = 0; i < ticks; ++i) {
      registry.advance(1'000'000'000 / 60);
      registry.push(muster::Update{.dt = 1.0f / 60});
    }
  }
};

/// A registry's rows in a map.
struct SavedRows final : muster::StateSink, muster::StateSource {
  std::map<muster::StateKey, std::vector<std::byte>> all;
  void row(const muster::StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    all[key].assign(bytes.begin(), bytes.end());
  }
  void rows(muster::StateSection section,
            const std::function<void(const muster::StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : all)
      if (key.section == section) take(key, bytes);
  }
};
