// A slice of a world's journal as one file, which reproduces what the world did: the state of a
// checkpoint with its schemas, the history, the inputs after it, and hashes that the world had on
// the way. `muster journal --slice` writes slices, and `muster replay` does them again.
//
//   0  | "MUSTERSL" | format u32 | zero u32 | size u64 | blocks ... | XXH3-128 of all before |
//
// A block is | kind u32 | zero u32 | length u64 | payload |. All numbers are little-endian. The
// first block is the meta block, and the others are in ascending order of their kinds. The checksum
// covers every byte, so a slice that was cut or changed anywhere is refused.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "registry/history/edit_history.h"
#include "registry/state/state.h"
#include "server/world/journal/journal_group.h"
#include "server/world/replay/recorded_state.h"
#include "server/world/replay/tick_hashes.h"
#include "server/world/store/world_error.h"

namespace muster {

class Store;

struct Slice {
  struct Row {
    StateKey key;
    std::vector<std::byte> bytes;
  };
  std::string world, product, saved;  ///< as in the file's meta table
  std::string code;                   ///< identity of the program and its plugins at the checkpoint
  std::uint64_t sequence = 0, tick = 0;
  bool in_run = false;    ///< true if a run is on; see World::play
  std::vector<Row> rows;  ///< the state, in key order
  std::vector<EditHistory::Saved> steps, run_steps;
  std::vector<JournalGroup> groups;
  /// What the world itself had after some of the inputs, in ascending order: states that it saved,
  /// and hashes of ticks (TickHashLog).
  std::vector<RecordedState> states;
  std::vector<TickHash> hashes;

  /// Returns the number of the last input.
  std::uint64_t last_sequence() const noexcept { return groups.empty() ? sequence : groups.back().last; }
};

/// The newest format. Format 1 has no hashes; a slice without hashes is still written in it.
constexpr std::uint32_t slice_format = 2;

/// Says what a slice contains.
struct SliceRange {
  /// Groups that begin after this tick are left out.
  std::uint64_t to_tick = ~std::uint64_t{0};
  /// The slice begins at the newest checkpoint that is at least this old and, if `before` is not 0,
  /// does not contain that input. If the file does not keep such a checkpoint, or if the journal
  /// does not lead from it to the present, the slice begins at the oldest one from which it does.
  std::chrono::seconds age = {};
  std::uint64_t before = 0;
  /// Limit on the bytes of rows, steps and records. An earlier checkpoint that would exceed it is
  /// not used.
  std::uint64_t bytes_max = ~std::uint64_t{0};
};

/// Reads the checkpoint and the journal of a world file that is open and was not read before. A
/// slice that begins at an earlier checkpoint has no steps from before it, but hashes of the state
/// at the present one. Refuses a file of an
/// older format, and fails with `too_large` if the slice exceeds the limit.
[[nodiscard]] std::expected<Slice, WorldError> slice_of(Store& file, const SliceRange& range = {});

/// Adds the hashes of the slice's ticks from a file that TickHashLog wrote. On failure, the slice
/// is unchanged.
[[nodiscard]] std::expected<void, WorldError> add_hashes(Slice& slice, const std::string& path);

/// Returns the bytes of a file.
std::vector<std::byte> encode(const Slice& slice);
/// Reads any bytes. The error is a sentence that says what is wrong. Rows and records are read
/// later, by EntityRegistry::load() and RecordReader, which check them.
[[nodiscard]] std::expected<Slice, std::string> decode_slice(std::span<const std::byte> bytes);
/// True if the bytes begin like a slice, even one that was cut or changed.
bool looks_like_slice(std::span<const std::byte> bytes) noexcept;

/// Writes a new file that only its owner may read, and waits until it is on disk. On failure, no
/// file remains.
[[nodiscard]] std::expected<void, WorldError> write_slice(const std::string& path, const Slice& slice);
/// Reads a slice, or the checkpoint and journal of a world file that no process has open.
[[nodiscard]] std::expected<Slice, WorldError> read_slice_or_world(const std::string& path);

}  // namespace muster
