// Manages the plugins of a server. Loads each plugin once, creates one instance per registry, and
// replaces builds while the world is running.
//
//   Plugins plugins;                                        // must outlive the world
//   plugins.load("libgame.so");
//   World world("level1.muster", [&](EntityRegistry& r) { return plugins.install(r); });
//   ... another build of libgame.so is written ...
//   plugins.reload(world.registry());                       // between two inputs
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "registry/entity_registry.h"
#include "server/plugins/plugin_library.h"
#include "server/plugins/reloaded_plugin.h"

namespace muster {

/// Must be used only on the thread that owns its registries, and must outlive those registries.
class Plugins {
 public:
  Plugins();
  ~Plugins();
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  /// Loads a plugin. Throws PluginError if the plugin cannot be loaded (see PluginLibrary) or if a
  /// plugin with the same name is already loaded.
  void load(const std::string& path);
  /// Creates an instance of each plugin, in the order in which the plugins were loaded. The
  /// instances live as long as the returned object. Intended for use as the `install` function of a
  /// World. Throws PluginError on failure.
  [[nodiscard]] Handlers install(EntityRegistry& registry);
  /// Makes each instance in this registry fill a new world. Throws PluginError on failure.
  void begin(EntityRegistry& registry);
  /// Returns a string for WorldOptions::code that identifies the program and the builds that run
  /// the handlers, for example "muster-server 0.1.0, skirmish 2 93ab...".
  std::string code(std::string host) const;
  /// Returns the name and build of each plugin.
  std::vector<std::pair<std::string, std::string>> list() const;

  /// Reloads the library of the plugin `which` (a name or a path; empty means all plugins), and
  /// replaces the running build in this registry and in later ones. Must be called between two
  /// inputs, not inside a handler, and while no posted messages are pending. Sends no message and
  /// leaves the registry's state unchanged. Handlers are subscribed again in the same order, and
  /// handlers that were disabled remain disabled. Each manager passes its state to its successor of
  /// the same name. Values of the plugin's runtime components are created again and passed to the
  /// plugin's restore hook. The instance's own state is passed on through `hand_over` and
  /// `take_over`.
  ///
  /// A running registry cannot accept a type whose layout has changed. If such a type is found and
  /// `opened_again` is given, a copy of the state is converted (docs/schema.md), as if the world
  /// were opened with the new build. If the conversion succeeds, the running build is not replaced,
  /// and `opened_again` receives a one-sentence description of each conversion. The host must then
  /// save the world, destroy it, and open it again with a new Plugins object that has reloaded the
  /// files. The conversion requires memory for two copies of the state.
  ///
  /// After an error, the old build continues to run. The new build is first installed in an empty
  /// registry, together with the other plugins and the world's types. This trial detects a library
  /// that cannot be loaded, throws an exception, conflicts with other plugins, has different
  /// layouts, or refuses the state. If a step fails only in the real registry, for example when a
  /// manager loads its state, the old build's instance and runtime values are created again from
  /// their own state.
  [[nodiscard]] std::expected<std::vector<ReloadedPlugin>, std::string> reload(
      EntityRegistry& registry, std::string_view which = {}, std::vector<std::string>* opened_again = nullptr);

 private:
  using Library = std::shared_ptr<PluginLibrary>;
  struct Installed {
    Library library;
    PluginLibrary::Instance instance;
  };
  struct Instances;
  struct Exchange;

  Instances* of(const EntityRegistry& registry) noexcept;
  void rehearse(const EntityRegistry& registry, const std::vector<Exchange>& exchanges) const;
  std::vector<std::string> rehearse_opening(const EntityRegistry& registry,
                                            const std::vector<Exchange>& exchanges) const;
  Instances make_all(EntityRegistry& empty, const std::vector<Exchange>& exchanges, bool with_state) const;
  void exchange(EntityRegistry& registry, Instances& running, std::vector<Exchange>& exchanges);

  std::vector<Library> libraries_;
  std::vector<std::weak_ptr<Instances>> instances_;
  std::vector<Library> retired_;  // builds that another registry may still use
};

}  // namespace muster
