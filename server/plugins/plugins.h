// The plugins of a server: loaded once, an instance per registry, exchanged while the world runs.
//
//   Plugins plugins;                                        // goes after the world
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

/// Belongs to the thread of its registries, and outlives them.
class Plugins {
 public:
  Plugins();
  ~Plugins();
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  /// Throws PluginError (see PluginLibrary), also where one of that name is loaded.
  void load(const std::string& path);
  /// Makes an instance of each, in the order they were loaded; all end with what is returned. For World's install. Throws
  /// PluginError.
  [[nodiscard]] Handlers install(EntityRegistry& registry);
  /// Has each instance of this registry fill a new world. Throws PluginError.
  void begin(EntityRegistry& registry);
  /// "muster-server 0.1.0, skirmish 2 93ab...": the program and builds that run the handlers, for WorldOptions::code.
  std::string code(std::string host) const;
  /// Name and build of each.
  std::vector<std::pair<std::string, std::string>> list() const;

  /// Loads the library of the plugin called `which` (by name or path; empty: of all) again and puts it in the place of the
  /// running build in this registry; later registries get it too. Not inside a handler, nor while posts of others wait to be
  /// made: between two inputs. No message is sent: apart from what the plugin keeps itself, the registry's state is the same
  /// afterwards. Handlers are registered anew and stand where they stood, those that are passed over still are; managers
  /// give their state to their successors of the same name; values of the plugin's runtime components are made anew (and
  /// given to its restore hook); the instance's own state goes through hand_over and take_over.
  ///
  /// A type of the new build that has another layout than in this world cannot be exchanged in a registry that runs. Where `opened_again`
  /// is given, a copy of the state is then converted to it (docs/schema.md), as opening the world with that build would. If that
  /// goes well nothing was exchanged, and `opened_again` is told what would be converted, a sentence each: it is for the host to save
  /// the world, end it, and open it again with Plugins that loaded the files anew. That takes memory for the state twice.
  ///
  /// An error leaves the old build running. Before anything is touched the new one is installed in an empty registry, beside
  /// the other plugins and the world's types: a library that cannot be loaded, throws, contradicts others, has other
  /// layouts or refuses the state is found there. What refuses only in the real registry (a manager's saved state) makes
  /// instance and runtime values of the old build anew, from its own state.
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
  std::vector<Library> retired_;  // that some other registry may still use
};

}  // namespace muster
