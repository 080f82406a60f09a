// The interface of a plugin for muster-server, which is a shared library with a single C entry
// point. The server creates one instance of the plugin per registry. A plugin must not have mutable
// static variables, because several registries, and during a reload two builds of the plugin, may
// exist at the same time.
//
//   #include <muster/plugin.h>
//   muster::Handlers install(muster::EntityRegistry& registry) { return {...}; }
//   extern "C" const MusterPlugin* muster_plugin() {
//     static constexpr MusterPlugin plugin = muster::plugin_of<install>("game", "game 1.0");
//     return &plugin;
//   }
//
// Link the plugin with -Wl,-Bsymbolic (pkg-config --libs muster-plugin), so that the plugin uses
// its own definitions even if the program or an older build of the plugin defines symbols with the
// same names. With GCC, this also requires -fno-gnu-unique.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "registry/entity_registry.h"
#include "server/plugins/plugin_digest.h"

/// Version of the interface between plugins and the server. The server refuses a plugin with any
/// other version.
constexpr std::uint32_t muster_plugin_abi = 3;

/// Hash of the layouts of the registry classes that compiled handlers access. The layouts depend on
/// the compiler, its options, and the standard library. The server refuses a plugin if this value
/// differs from its own, or if muster_plugin_headers, which is a digest of the headers' text,
/// differs.
constexpr std::uint32_t muster_plugin_layout = [] {
  std::uint32_t hash = 2166136261u;
  for (const std::size_t size : {sizeof(muster::EntityRegistry),
                                 sizeof(muster::Handler),
                                 sizeof(muster::HandlerOptions),
                                 sizeof(muster::Term),
                                 sizeof(muster::Outbox),
                                 sizeof(muster::Spawner),
                                 sizeof(muster::RunContext),
                                 sizeof(muster::Storage),
                                 sizeof(muster::Chunk),
                                 sizeof(muster::Archetype),
                                 sizeof(muster::StoredType),
                                 sizeof(muster::HandlerTable),
                                 sizeof(muster::MessageRoute),
                                 sizeof(muster::TypesKnown),
                                 sizeof(muster::TypeDescriptor),
                                 sizeof(muster::FieldDescriptor),
                                 sizeof(muster::Arena),
                                 sizeof(muster::BatchBuilder),
                                 sizeof(muster::Manager),
                                 sizeof(muster::RuntimeOps),
                                 sizeof(std::string),
                                 sizeof(std::vector<int>),
                                 sizeof(std::function<void()>)})
    hash = (hash ^ static_cast<std::uint32_t>(size)) * 16777619u;
  return hash;
}();

extern "C" {
struct MusterPlugin {
  /// Always the first member, so that every version of the server can read it.
  std::uint32_t abi_version;
  std::uint32_t layout;   ///< muster_plugin_layout, as computed by the plugin's compiler
  std::uint64_t headers;  ///< muster_plugin_headers of the headers used to compile the plugin

  /// Unique among the plugins of a server, and identical in all builds of a plugin.
  const char* name;
  /// Identifies the plugin's code. Stored with every save, so that a replay can check it.
  const char* build;

  /// Subscribes the plugin's handlers in a registry and returns the instance. On failure, returns
  /// null and writes a zero-terminated message of at most error_bytes bytes to `error`. Must not
  /// throw. The registry outlives the instance.
  void* (*create)(muster::EntityRegistry* registry, char* error, std::size_t error_bytes);
  /// Removes the handlers and frees the instance. Values of the plugin's runtime components may be
  /// destroyed before or after this call.
  void (*destroy)(void* instance);
  /// Fills a new world. Called once per world. May be null. On failure, returns false and writes a
  /// message to `error`, like `create`.
  bool (*begin)(void* instance, muster::EntityRegistry* registry, char* error, std::size_t error_bytes);

  /// Version of the state format that `hand_over` writes when the plugin is reloaded.
  std::uint32_t state_version;
  std::uint32_t reserved;
  /// Writes the old instance's state for the new instance. The state does not include the contents
  /// of the registry and its managers. May call `write` any number of times. If null, the plugin
  /// has no such state. If the new instance cannot be used, the old one remains in use.
  bool (*hand_over)(const void* instance, void* to, void (*write)(void* to, const void* bytes, std::size_t count),
                    char* error, std::size_t error_bytes);
  /// Passes the old instance's state to the new instance, directly after `create`. Not called if
  /// there is no such state. If null, the state is discarded. If `take_over` returns false, the old
  /// build is kept. The function is first tried on an instance in an empty registry.
  bool (*take_over)(void* instance, std::uint32_t version, const void* bytes, std::size_t count, char* error,
                    std::size_t error_bytes);
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

/// Returns a MusterPlugin that has the members common to all plugins, but no functions.
constexpr MusterPlugin plugin_named(const char* name, const char* build) noexcept {
  MusterPlugin plugin{};
  plugin.abi_version = muster_plugin_abi;
  plugin.layout = muster_plugin_layout;
  plugin.headers = muster_plugin_headers;
  plugin.name = name;
  plugin.build = build;
  return plugin;
}

/// Returns the result of f. If f throws, writes the reason to `error` and returns false.
template <class F>
bool without_throwing(char* error, std::size_t error_bytes, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& failed) {
    put_error(failed.what(), error, error_bytes);
  } catch (...) {
    put_error("it threw something that is not a std::exception", error, error_bytes);
  }
  return false;
}

/// Throws if the calling file was compiled with options that make floating-point results differ
/// from those of the server, or if this thread rounds in another way.
inline void refuse_arithmetic(std::uint32_t found) {
  if (const std::string fault = rounding_fault(); !fault.empty()) throw std::runtime_error("this thread " + fault);
  if (found != 0) throw std::runtime_error("it " + arithmetic_fault(found));
}

template <Handlers (*Install)(EntityRegistry&)>
void* create_plugin(EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
  void* made = nullptr;
  without_throwing(error, error_bytes, [&] {
    refuse_arithmetic(arithmetic_here());
    made = std::make_unique<Handlers>(Install(*registry)).release();
    return true;
  });
  return made;
}
inline void destroy_plugin(void* instance) noexcept { delete static_cast<Handlers*>(instance); }

template <void (*Begin)(EntityRegistry&)>
bool begin_plugin(void*, EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
  return without_throwing(error, error_bytes, [&] { return Begin(*registry), true; });
}

template <class Game>
struct PluginClass {
  static void* create(EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
    Game* made = nullptr;
    without_throwing(error, error_bytes, [&] {
      refuse_arithmetic(arithmetic_here());
      made = std::make_unique<Game>(*registry).release();
      return true;
    });
    return made;
  }
  static void destroy(void* instance) noexcept { delete static_cast<Game*>(instance); }
  static bool begin(void* instance, EntityRegistry* registry, char* error, std::size_t error_bytes) noexcept {
    return without_throwing(error, error_bytes, [&] { return static_cast<Game*>(instance)->begin(*registry), true; });
  }
  static bool hand_over(const void* instance, void* to, void (*write)(void*, const void*, std::size_t), char* error,
                        std::size_t error_bytes) noexcept {
    return without_throwing(error, error_bytes, [&] {
      std::vector<std::byte> bytes;
      static_cast<const Game*>(instance)->hand_over(bytes);
      write(to, bytes.data(), bytes.size());
      return true;
    });
  }
  static bool take_over(void* instance, std::uint32_t version, const void* bytes, std::size_t count, char* error,
                        std::size_t error_bytes) noexcept {
    return without_throwing(error, error_bytes, [&] {
      const std::expected<void, std::string> taken = static_cast<Game*>(instance)->take_over(
          version, std::span<const std::byte>(static_cast<const std::byte*>(bytes), count));
      if (!taken) put_error(taken.error().c_str(), error, error_bytes);
      return taken.has_value();
    });
  }
};

}  // namespace detail

/// Creates a plugin from an install function of the kind that World takes.
template <Handlers (*Install)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  MusterPlugin plugin = detail::plugin_named(name, build);
  plugin.create = &detail::create_plugin<Install>;
  plugin.destroy = &detail::destroy_plugin;
  return plugin;
}
/// Creates a plugin from an install function and a function that fills a new world.
template <Handlers (*Install)(EntityRegistry&), void (*Begin)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  MusterPlugin plugin = plugin_of<Install>(name, build);
  plugin.begin = &detail::begin_plugin<Begin>;
  return plugin;
}
/// Creates a plugin from a class that is constructed with an EntityRegistry& and has its Handlers
/// as a member. The class may have
///   void begin(EntityRegistry&)                                                      fills a new world
///   static constexpr std::uint32_t state_version
///   void hand_over(std::vector<std::byte>& out) const                                for the next build of itself
///   std::expected<void, std::string> take_over(std::uint32_t version, std::span<const std::byte>)
template <class Game>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  MusterPlugin plugin = detail::plugin_named(name, build);
  plugin.create = &detail::PluginClass<Game>::create;
  plugin.destroy = &detail::PluginClass<Game>::destroy;
  if constexpr (requires(Game& game, EntityRegistry& registry) { game.begin(registry); })
    plugin.begin = &detail::PluginClass<Game>::begin;
  if constexpr (requires(const Game& game, std::vector<std::byte>& out) { game.hand_over(out); }) {
    plugin.state_version = Game::state_version;
    plugin.hand_over = &detail::PluginClass<Game>::hand_over;
  }
  if constexpr (requires(Game& game, std::span<const std::byte> bytes) { game.take_over(std::uint32_t{}, bytes); })
    plugin.take_over = &detail::PluginClass<Game>::take_over;
  return plugin;
}

}  // namespace muster
