// What a plugin is to muster-server: a shared library with one C entry point, asked once per registry. Nothing in it may
// be a mutable static: several registries can live side by side.
//
//   #include <muster/plugin.h>
//   muster::Handlers install(muster::EntityRegistry& registry) { return {registry.subscribe(...), ...}; }
//   extern "C" const MusterPlugin* muster_plugin() {
//     static constexpr MusterPlugin plugin = muster::plugin_of<install>("skirmish", "skirmish 1.0");
//     return &plugin;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "registry/entity_registry.h"

/// Grows with every change of the registry's headers that compiled handlers see. A plugin of another number is refused.
constexpr std::uint32_t muster_plugin_abi = 1;

extern "C" {
struct MusterPlugin {
  std::uint32_t abi_version;  ///< first for ever, so that it can be read whatever follows
  std::uint32_t reserved;
  const char* name;
  const char* build;  ///< which code this is: kept with every save, so that a replay knows
  /// Subscribes the plugin's handlers to a registry and returns the instance; null, and a sentence in `error` (room for
  /// error_bytes, ended by a zero), where that failed. Throws nothing. The registry outlives the instance.
  void* (*create)(muster::EntityRegistry* registry, char* error, std::size_t error_bytes);
  /// Ends the handlers and frees the instance.
  void (*destroy)(void* instance);
  /// Fills a world that is new, once in its life; may be null. The same rules for errors: false where it failed.
  bool (*begin)(void* instance, muster::EntityRegistry* registry, char* error, std::size_t error_bytes);
};
using MusterPluginEntry = const MusterPlugin* (*)();
}

namespace muster {
namespace detail {

inline void put_error(const char* what, char* error, std::size_t error_bytes) noexcept {
  if (error_bytes == 0) return;
  std::size_t i = 0;
  for (; what[i] != '\0' && i + 1 < error_bytes; ++i) error[i] = what[i];
  error[i] = '\0';
}

template <Handlers (*Install)(EntityRegistry&)>
void* create_plugin(EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
  try {
    return std::make_unique<Handlers>(Install(*registry)).release();
  } catch (const std::exception& failed) {
    put_error(failed.what(), error, error_bytes);
    return nullptr;
  }
}
inline void destroy_plugin(void* instance) noexcept { delete static_cast<Handlers*>(instance); }

template <void (*Begin)(EntityRegistry&)>
bool begin_plugin(void*, EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
  try {
    Begin(*registry);
    return true;
  } catch (const std::exception& failed) {
    put_error(failed.what(), error, error_bytes);
    return false;
  }
}

}  // namespace detail

/// A plugin that is an install function, as a World takes it.
template <Handlers (*Install)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  return {muster_plugin_abi, 0, name, build, &detail::create_plugin<Install>, &detail::destroy_plugin, nullptr};
}
/// The same with a function that fills a new world.
template <Handlers (*Install)(EntityRegistry&), void (*Begin)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  return {muster_plugin_abi,           0, name, build, &detail::create_plugin<Install>, &detail::destroy_plugin,
          &detail::begin_plugin<Begin>};
}

}  // namespace muster
