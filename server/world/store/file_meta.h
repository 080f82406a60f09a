// Reads and writes the `meta` table of a world file, which contains the identity of the world, the
// point in time that its state represents, and the program that wrote it. Values are stored as
// text, so that any SQL tool can display them. `checksum` covers all other values.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/world/store/database.h"

namespace muster {

/// The checkpoint to which the world returns when its run ends. Its rows stay in the file while the
/// run is on.
struct FileLevel {
  std::uint64_t checkpoint = 0, sequence = 0, tick = 0;
  std::uint64_t rows = 0;
  std::string digest;
};

/// A past checkpoint whose rows stay in the file, together with all groups after it, so that the
/// world can return to its state and to each state until the next such checkpoint.
struct FilePoint {
  std::uint64_t checkpoint = 0, sequence = 0, tick = 0;
  std::uint64_t rows = 0;
  std::string digest;
  std::uint64_t group = 0, chain = 0;  ///< like FileMeta::group and FileMeta::chain
  std::string saved;                   ///< time of the checkpoint
  /// True if it is a level, which does not lead to the next one.
  bool alone = false;
};

/// The steps of the history that belong to a run: those with the numbers `first` to `last`. While
/// the run is on, `last` is 0, and all steps from `first` on belong to it.
struct RunSteps {
  std::uint64_t first = 0, last = 0;
};

struct FileMeta {
  std::string world;    ///< 32 random hexadecimal digits that identify the world
  std::string product;  ///< the program that last wrote the file, such as "muster 0.1.0"
  std::string created;  ///< time of creation, such as "2026-11-21T00:45:17Z"
  std::string saved;    ///< time of the last checkpoint
  std::string code;     ///< code identity at the last checkpoint, used for recovery
  std::string types;    ///< fingerprint of the types in the `types` table
  /// Numbered 1, 2, 3, ... over the world's lifetime; 0 before the first.
  std::uint64_t checkpoint = 0;
  std::uint64_t sequence = 0;  ///< sequence of the last input in the state
  std::uint64_t tick = 0;
  std::uint64_t rows = 0;  ///< number of rows in `state`
  std::string digest;      ///< digest of the state; see checksum.h

  /// The last journal group contained in the state (0 if none), and its checksum, which seeds the
  /// checksum of the next group.
  std::uint64_t group = 0, chain = 0;
  /// The number of rows in `history`, and their digest, which is made like that of the state.
  /// Format 2 does not contain these values.
  std::uint64_t steps = 0;
  std::string history;
  /// The newest requests of sessions that were applied (AppliedRequests::text). Missing in files of
  /// earlier versions, and if there are none.
  std::string requests = {};
  std::optional<FileLevel> level = {};     ///< set while a run is on
  std::optional<RunSteps> run_steps = {};  ///< steps of the current run, or of the last one
  std::vector<FilePoint> past = {};        ///< the past checkpoints that are kept, the oldest first

  /// Returns the values that this table would have if the file's state were the level, which must
  /// be set.
  FileMeta of_level() const;
  /// Like of_level(), but for a past checkpoint.
  FileMeta of_point(const FilePoint& point) const;
  /// Describes this checkpoint as a past one.
  FilePoint as_point() const;
  /// Returns the numbers of the past checkpoints whose rows are kept, in ascending order.
  std::vector<std::uint64_t> kept_checkpoints() const;
  /// Returns the last group that neither `past` nor a state that contains the groups up to
  /// `contained` needs, or 0.
  static std::uint64_t past_group(const std::vector<FilePoint>& past, std::uint64_t contained) noexcept;
  std::uint64_t past_group() const noexcept { return past_group(past, group); }
};

/// Reads and checks the table of a file in the given format. Fails with `damaged` if a value is
/// missing or invalid, or if the checksum does not match.
[[nodiscard]] std::expected<FileMeta, WorldError> read_meta(Database& database, std::uint32_t format,
                                                            const std::string& shown);

/// Replaces the table's contents in format 3. Must be called inside the caller's transaction.
[[nodiscard]] std::expected<void, WorldError> write_meta(Database& database, const FileMeta& meta);

std::string new_world_name();
std::string utc_now();
/// Returns the seconds since 1970 of a time that utc_now() returned, or 0 if `text` is not one.
std::int64_t seconds_of(const std::string& text) noexcept;

}  // namespace muster
