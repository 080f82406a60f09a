// A plugin's shared library, loaded and checked.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "server/plugin.h"

namespace muster {

/// Why a plugin cannot be used; begins with its path.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Must outlive every instance, and every registry that still has its handlers.
class PluginLibrary {
 public:
  /// Throws PluginError: no such file, no library, no entry point, another ABI version.
  explicit PluginLibrary(std::string path);
  ~PluginLibrary();
  PluginLibrary(PluginLibrary&& other) noexcept;
  PluginLibrary& operator=(PluginLibrary&&) = delete;

  const std::string& path() const noexcept { return path_; }
  const char* name() const noexcept { return plugin_->name; }
  const char* build() const noexcept { return plugin_->build; }

  struct Destroy {
    void (*destroy)(void*) = nullptr;
    void operator()(void* instance) const noexcept { destroy(instance); }
  };
  using Instance = std::unique_ptr<void, Destroy>;
  /// Throws PluginError with the plugin's sentence.
  [[nodiscard]] Instance create(EntityRegistry& registry) const;
  /// Fills a new world; nothing where the plugin does not. Throws PluginError.
  void begin(const Instance& instance, EntityRegistry& registry) const;

 private:
  std::string path_;
  void* library_ = nullptr;
  const MusterPlugin* plugin_ = nullptr;
};

}  // namespace muster
