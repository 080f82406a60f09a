// Whether a world file would be opened by a server, and come back as it was: every byte of it is read, nothing is changed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/world/file_meta.h"
#include "server/world/world_error.h"

namespace muster {

struct VerifyReport {
  FileMeta meta = {};
  bool running = false;  ///< a process has the world open; a copy was verified
  bool older = false;    ///< of file format 1, which the next save takes over
  std::uint64_t entities = 0;
  std::uint64_t hash = 0;    ///< of the state at the checkpoint, as EntityRegistry::hash gives it
  std::uint64_t groups = 0;  ///< of the journal, behind the checkpoint
  std::uint64_t inputs = 0, ticks = 0;
  std::uint64_t durable = 0;  ///< sequence of the last input that the file has
  /// What is not as it was written and is no reason to refuse the world, a sentence each: values that no enum has, and
  /// files beside it that have later inputs of this world (newer_rescued).
  std::vector<std::string> remarks = {};
};

/// An error is what a server would say that refuses the world; one of a journal that nothing can be done again from is among them.
/// Needs as much memory as the world that runs. What handlers do again is not tried: they are not here.
[[nodiscard]] std::expected<VerifyReport, WorldError> verify(const std::string& path);

}  // namespace muster
