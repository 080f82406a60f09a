// The `meta` table of a world file: which world it is, which moment it holds, which program wrote it. Values are text, so that any
// SQL tool shows them; `checksum` covers all others.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>

#include "server/world/database.h"

namespace muster {

struct FileMeta {
  std::string world;    ///< 32 hexadecimal digits, drawn when the file was made; what tells one world from another
  std::string product;  ///< "muster 0.1.0": the program that wrote last
  std::string created;  ///< "2026-11-21T00:45:17Z"
  std::string saved;    ///< likewise, of the last checkpoint
  std::string code;     ///< code identity of the host that wrote the last checkpoint; compared by recovery
  std::string types;    ///< fingerprint of the types in the `types` table
  std::uint64_t checkpoint = 0;  ///< 1, 2, 3 ... over the world's life; 0: nothing was saved yet
  std::uint64_t sequence = 0;    ///< of the last input that the state contains
  std::uint64_t tick = 0;
  std::uint64_t rows = 0;  ///< of `state`
  std::string digest;      ///< see checksum.h
  /// The journal's last group that the state contains, 0: none, and its checksum: with it the next one is seeded. Not in format 1.
  std::uint64_t group = 0, chain = 0;
};

/// Reads and checks the table of a file of this format. Damaged where a value is missing, is not of its kind, or the checksum disagrees.
[[nodiscard]] std::expected<FileMeta, WorldError> read_meta(Database& database, std::uint32_t format,
                                                            const std::string& shown);

/// What a world file says without its -wal, which may have more.
struct FileAlone {
  std::string world;           ///< empty: it cannot be read so
  std::uint64_t sequence = 0;  ///< of the last input that the state contains
  std::uint64_t checkpoint = 0;
  std::uint64_t group = 0;  ///< the last one of the journal, or that the state contains
};
/// Takes no lock. Call it while no process merges into the file. A file into which a part of its -wal
/// was merged may say anything: with `whole` all of it is read, and only one that fits together counts.
FileAlone read_alone(const std::string& path, const std::string& shown, bool whole);

/// Replaces the table's contents by those of format 2, inside the caller's transaction.
[[nodiscard]] std::expected<void, WorldError> write_meta(Database& database, const FileMeta& meta);

std::string new_world_name();
std::string utc_now();

}  // namespace muster
