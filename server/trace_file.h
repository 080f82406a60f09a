// Records a Trace of a registry from begin() to end(), and writes it to a file.
#pragma once

#include <expected>
#include <string>

#include "registry/observe/trace.h"

namespace muster {

class EntityRegistry;

/// Used on the registry's thread. Call end() before the registry is destroyed, or destroy this
/// after it.
class TraceFile {
 public:
  explicit TraceFile(std::string path) : path_(std::move(path)) {}

  /// Begins to record. Creates the empty file first, to check that it can be written. On failure
  /// returns the reason and records nothing.
  [[nodiscard]] std::expected<void, std::string> begin(EntityRegistry& registry);
  /// Ends the recording and writes the file. On failure returns the reason and leaves no incomplete
  /// file. Does nothing without a recording.
  [[nodiscard]] std::expected<void, std::string> end();

  bool recording() const noexcept { return registry_ != nullptr; }
  const std::string& path() const noexcept { return path_; }
  const Trace& trace() const noexcept { return trace_; }

 private:
  std::string path_;
  Trace trace_;
  EntityRegistry* registry_ = nullptr;  // null without a recording
};

}  // namespace muster
