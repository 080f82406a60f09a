// A plugin's shared library, loaded and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/plugins/plugin.h"
#include "server/plugins/plugin_copy.h"

namespace muster {

/// Why a plugin cannot be used; begins with its path.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The code of one build. Must outlive every instance, every registry that still has its handlers, and every value of its
/// runtime components. Loading the same path again, after another build was written there, gives a library of its own.
class PluginLibrary {
 public:
  /// Throws PluginError: no such file, no library, cut off, a symbol that nobody has, no entry point, another ABI version,
  /// other headers or another layout of their classes.
  explicit PluginLibrary(std::string path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& path() const noexcept { return path_; }
  const char* name() const noexcept { return plugin_->name; }
  const char* build() const noexcept { return plugin_->build; }
  /// Name, build, and a hash of the file: which code this is.
  std::string identity() const;
  /// Of the file's bytes.
  std::uint64_t digest() const noexcept { return copy_.digest(); }
  /// Another build, loaded beside this one, would use parts of it: see PluginCopy.
  bool has_unique_symbols() const noexcept { return copy_.has_unique_symbols(); }
  /// Whether the address is within this library's code or data.
  bool owns(const void* address) const noexcept;

  struct Destroy {
    void (*destroy)(void*) = nullptr;
    void operator()(void* instance) const noexcept { destroy(instance); }
  };
  using Instance = std::unique_ptr<void, Destroy>;
  /// Throws PluginError with the plugin's sentence.
  [[nodiscard]] Instance create(EntityRegistry& registry) const;
  /// Fills a new world; nothing where the plugin does not. Throws PluginError.
  void begin(const Instance& instance, EntityRegistry& registry) const;

  /// What an instance of one build tells one of the next.
  struct State {
    std::uint32_t version = 0;
    std::vector<std::byte> bytes;
  };
  /// Nothing where the plugin hands nothing over. Throws PluginError.
  std::optional<State> hand_over(const Instance& instance) const;
  /// Throws PluginError where the plugin refuses it.
  void take_over(const Instance& instance, const State& state) const;

 private:
  std::string path_;
  PluginCopy copy_;
  void* library_ = nullptr;
  const MusterPlugin* plugin_ = nullptr;
  const void* base_ = nullptr;
};

}  // namespace muster
