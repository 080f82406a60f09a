// What a plugin is to muster-server: a shared library with one C entry point, asked once per registry. Nothing in it may
// be a mutable static: several registries can live side by side, and so can two builds of one plugin while it is exchanged.
//
//   #include <muster/plugin.h>
//   muster::Handlers install(muster::EntityRegistry& registry) { return {registry.subscribe(...), ...}; }
//   extern "C" const MusterPlugin* muster_plugin() {
//     static constexpr MusterPlugin plugin = muster::plugin_of<install>("skirmish", "skirmish 1.0");
//     return &plugin;
//   }
//
// It is linked with -Wl,-Bsymbolic (pkg-config --libs muster-plugin says so): what it has itself it uses itself, even where
// the program, or an older build of it, has something of that name. GCC needs -fno-gnu-unique for that, too.
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

/// Grows with every change of what a plugin and a server call each other with. A plugin of another number is refused.
constexpr std::uint32_t muster_plugin_abi = 3;

/// Of the registry's classes whose insides compiled handlers see: what the compiler, its options and the standard library made of them.
/// A plugin that has another one is refused, as is one whose muster_plugin_headers, the digest of the headers' text, is another.
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
  std::uint32_t abi_version;  ///< first for ever, so that it can be read whatever follows
  std::uint32_t layout;       ///< muster_plugin_layout, as its compiler sees it
  std::uint64_t headers;      ///< muster_plugin_headers of the headers it was compiled with
  const char* name;           ///< two plugins of one server have different names; so do not two builds of one plugin
  const char* build;          ///< which code this is: kept with every save, so that a replay knows
  /// Subscribes the plugin's handlers to a registry and returns the instance; null, and a sentence in `error` (room for
  /// error_bytes, ended by a zero), where that failed. Throws nothing. The registry outlives the instance.
  void* (*create)(muster::EntityRegistry* registry, char* error, std::size_t error_bytes);
  /// Ends the handlers and frees the instance. What runtime components it brought are destroyed before or after.
  void (*destroy)(void* instance);
  /// Fills a world that is new, once in its life; may be null. Where it fails it returns false and writes a
  /// sentence into `error`, as create does.
  bool (*begin)(void* instance, muster::EntityRegistry* registry, char* error, std::size_t error_bytes);

  /// When the plugin is loaded again: of what hand_over writes.
  std::uint32_t state_version;
  std::uint32_t reserved;
  /// The old instance tells the new one what it knows beside the registry and its managers: `write` may be called any
  /// number of times. Null: nothing. The instance goes on living if the new one cannot be used.
  bool (*hand_over)(const void* instance, void* to, void (*write)(void* to, const void* bytes, std::size_t count),
                    char* error, std::size_t error_bytes);
  /// The new instance takes it, directly after create; not called where the old one handed nothing over. Null: such bytes are
  /// dropped, and the instance begins anew. Refusing (false) leaves the old one running. It is tried beforehand on an
  /// instance in an empty registry.
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

/// What every plugin says, its functions not yet filled in.
constexpr MusterPlugin plugin_named(const char* name, const char* build) noexcept {
  MusterPlugin plugin{};
  plugin.abi_version = muster_plugin_abi;
  plugin.layout = muster_plugin_layout;
  plugin.headers = muster_plugin_headers;
  plugin.name = name;
  plugin.build = build;
  return plugin;
}

/// What f returns; where it throws, false and the reason.
template <class F>
bool without_throwing(char* error, std::size_t error_bytes, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& failed) {
    put_error(failed.what(), error, error_bytes);
  } catch (...) {
    put_error("it threw something that is no std::exception", error, error_bytes);
  }
  return false;
}

/// Throws if the file that asks was compiled so that floats have other bits than in the server.
inline void refuse_arithmetic(std::uint32_t found) {
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

/// A plugin that is an install function, as a World takes it.
template <Handlers (*Install)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  MusterPlugin plugin = detail::plugin_named(name, build);
  plugin.create = &detail::create_plugin<Install>;
  plugin.destroy = &detail::destroy_plugin;
  return plugin;
}
/// A plugin of an install function and of one that fills a new world.
template <Handlers (*Install)(EntityRegistry&), void (*Begin)(EntityRegistry&)>
constexpr MusterPlugin plugin_of(const char* name, const char* build) noexcept {
  MusterPlugin plugin = plugin_of<Install>(name, build);
  plugin.begin = &detail::begin_plugin<Begin>;
  return plugin;
}
/// A plugin that is a class: constructed with an EntityRegistry&, it keeps its Handlers as a member. It may have
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
