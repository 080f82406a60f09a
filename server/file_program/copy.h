// Copies a world from a file to PostgreSQL, from there to a file, or within one of them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "server/world/store/world_error.h"

namespace muster {

struct CopyReport {
  std::uint64_t checkpoint = 0, sequence = 0;  ///< the newest checkpoint, and the last input
  std::uint64_t entities = 0;
  std::uint64_t hash = 0;  ///< EntityRegistry::hash at the checkpoint, the same in both
};

/// Copies the world `from` to the new world `to`, with its past states, its journal and its
/// history. Each is the path of a file, or an address of PostgreSQL (read_pg_address). No process
/// may have `from` open. The copy has the same rows with the same checksums, and is read again in
/// whole and compared. An error leaves `from` unchanged. It leaves no `to`, unless the comparison
/// in PostgreSQL failed.
[[nodiscard]] std::expected<CopyReport, WorldError> copy_world(const std::string& from, const std::string& to);

}  // namespace muster
