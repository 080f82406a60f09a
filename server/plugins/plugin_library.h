// Loads and checks a plugin's shared library.
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

/// Thrown if a plugin cannot be used. The message begins with the plugin's path and gives the
/// reason.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The code of one build. Must outlive every instance, every registry that has its handlers, and
/// every value of its runtime components. If another build has been written to the same path,
/// loading that path again creates a separate library.
class PluginLibrary {
 public:
  /// Throws PluginError if the file is missing, truncated, or not a library, if a symbol is
  /// undefined, if the entry point is missing, or if the ABI version, headers, or layouts differ
  /// from the server's.
  explicit PluginLibrary(std::string path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& path() const noexcept { return path_; }
  const char* name() const noexcept { return plugin_->name; }
  const char* build() const noexcept { return plugin_->build; }
  /// Returns a string with the name, the build, and a hash of the file, which together identify the
  /// code.
  std::string identity() const;
  /// Returns the hash of the file's bytes.
  std::uint64_t digest() const noexcept { return copy_.digest(); }
  /// Returns true if another build that is loaded at the same time would use definitions from this
  /// one (see PluginCopy).
  bool has_unique_symbols() const noexcept { return copy_.has_unique_symbols(); }
  /// Returns true if the address is within this library's code or data.
  bool owns(const void* address) const noexcept;

  struct Destroy {
    void (*destroy)(void*) = nullptr;
    void operator()(void* instance) const noexcept { destroy(instance); }
  };
  using Instance = std::unique_ptr<void, Destroy>;
  /// Creates an instance. On failure, throws PluginError with the plugin's message.
  [[nodiscard]] Instance create(EntityRegistry& registry) const;
  /// Fills a new world, if the plugin supports this. Throws PluginError on failure.
  void begin(const Instance& instance, EntityRegistry& registry) const;

  /// The state that an instance passes to its successor from the next build.
  struct State {
    std::uint32_t version = 0;
    std::vector<std::byte> bytes;
  };
  /// Returns the state of an instance, or nothing if the plugin has no state to pass on. Throws
  /// PluginError on failure.
  std::optional<State> hand_over(const Instance& instance) const;
  /// Passes the state to an instance. Throws PluginError if the plugin refuses the state.
  void take_over(const Instance& instance, const State& state) const;

 private:
  std::string path_;
  PluginCopy copy_;
  void* library_ = nullptr;
  const MusterPlugin* plugin_ = nullptr;
  const void* base_ = nullptr;
};

}  // namespace muster
