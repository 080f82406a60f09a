// Reads and writes the `history` table, which contains the steps that users can undo and redo
// (registry/history/edit_history.h). Handles steps as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "registry/history/edit_history.h"
#include "server/world/rows/checksum.h"
#include "server/world/store/database.h"
#include "server/world/store/file_meta.h"

namespace muster {

/// The history of one open file.
class FileHistory {
 public:
  /// A function that is called for each step, in ascending order of numbers.
  using Take = std::function<void(std::uint64_t number, std::span<const std::byte> bytes)>;

  /// Verifies the table against `meta`, and passes the steps to `take`, which may be null. If the
  /// table is empty although it should not be, somebody removed the history on purpose, which is
  /// not an error. Must be called inside the caller's read transaction.
  [[nodiscard]] std::expected<void, WorldError> read(Database& database, const FileMeta& meta, const std::string& shown,
                                                     const Take& take);
  /// Writes changed steps, and sets the values of `meta` that describe the table. Must be called
  /// inside the caller's transaction. committed() must be called after the commit.
  [[nodiscard]] std::expected<void, WorldError> write(Database& database, std::span<const EditHistory::Saved> steps,
                                                      FileMeta& meta);
  void committed() noexcept { digest_ = written_; }
  /// Must be called if another program may have changed the table. The next write() looks at all
  /// rows.
  void forget() noexcept { digest_.reset(); }

 private:
  std::optional<StateDigest> digest_;  // of the table; empty if it is unknown
  StateDigest written_;                // of the table after the caller's transaction
};

}  // namespace muster
