// A file that tells what a registry did: a Trace, recorded from begin() to end() and then written.
#pragma once

#include <expected>
#include <string>

#include "registry/observe/trace.h"

namespace muster {

class EntityRegistry;

/// On the registry's thread; outlives the registry, or ends before it.
class TraceFile {
 public:
  explicit TraceFile(std::string path) : path_(std::move(path)) {}

  /// Has the registry observed and recorded from now on. The file is there, empty, at once: a path that cannot be written
  /// is found now. The reason where it is so; nothing is recorded then.
  [[nodiscard]] std::expected<void, std::string> begin(EntityRegistry& registry);
  /// Observes no longer and writes the file. The reason where that fails: then no half of it is left. Nothing where nothing
  /// is recorded.
  [[nodiscard]] std::expected<void, std::string> end();

  bool recording() const noexcept { return registry_ != nullptr; }
  const std::string& path() const noexcept { return path_; }
  const Trace& trace() const noexcept { return trace_; }

 private:
  std::string path_;
  Trace trace_;
  EntityRegistry* registry_ = nullptr;  // null: nothing is recorded
};

}  // namespace muster
