// What Muster promises of every input and every row, kept by hand over plain arrays. The variants `as_promised` (promised_bench.cc) are
// limits with it: what is left between them and Muster is Muster's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/plain_rows.h"
#include "bench/support.h"

namespace bench {

/// An input is sealed, numbered and shown to a sink before it is delivered; what became of it is counted. The first write of a chunk's
/// column since a checkpoint is told to a reader of the past.
class Promises {
 public:
  Promises() {
    benchmark::DoNotOptimize(sink_);
    benchmark::DoNotOptimize(reader_);
  }
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

  void tell(std::span<const std::byte> sealed) {
    ++envelope_.sequence;
    sink_->on_input(envelope_, sealed);
  }
  void handled(std::uint64_t count = 1) noexcept { handled_ += count; }
  void dead() noexcept { ++dead_; }
  /// As after a checkpoint: every column's next write is its first.
  void checkpoint() noexcept { ++version_; }
  /// Before a write to a row of a column.
  template <std::size_t columns>
  void touch(std::array<std::vector<std::uint64_t>, columns>& versions, std::size_t column, std::uint32_t row) {
    std::uint64_t& version = versions[column][row >> chunk_shift];
    if (version == version_) return;
    version = version_;
    reader_->before_write(chunk_, static_cast<std::uint32_t>(column));
  }

  static constexpr std::uint32_t chunk_shift = 10;  ///< rows of a chunk: 1,024
  static std::size_t chunks(std::size_t rows) noexcept { return (rows >> chunk_shift) + 1; }

 private:
  Features features_;
  muster::InputSink* sink_ = &features_;
  muster::ColumnPreserver* reader_ = &features_;
  muster::Envelope envelope_;
  muster::Chunk chunk_;
  std::uint64_t version_ = 1, handled_ = 0, dead_ = 0;
};

/// Rows with versions, and ids that never name two entities: they come back through a queue, first in, first out.
struct PromisedRows : PlainRows {
  enum Column : std::uint8_t { in_ids, in_positions, in_velocities, in_masses, in_extras };
  std::array<std::vector<std::uint64_t>, 5> versions;
  std::vector<std::uint32_t> queue;  // a ring; a power of two
  std::uint32_t head = 0, tail = 0;

  explicit PromisedRows(std::uint32_t rows = many) : PlainRows(rows), queue(std::size_t{1} << 15) {
    for (auto& column : versions) column.resize(Promises::chunks(rows));
  }
  void give_back(std::uint32_t index) noexcept { queue[tail++ & (queue.size() - 1)] = index; }
  std::uint32_t draw() noexcept { return queue[head++ & (queue.size() - 1)]; }

  /// The last row takes the place of another.
  void fill_hole(Promises& promises, std::uint32_t row) {
    const std::uint32_t last = --count;
    for (const std::size_t column : {in_ids, in_positions, in_velocities, in_masses}) {
      promises.touch(versions, column, row);
      promises.touch(versions, column, last);
    }
    const muster::Entity filler = ids[last];
    ids[row] = filler;
    slots[filler.index].row = row;
    positions[row] = positions[last];
    velocities[row] = velocities[last];
    masses[row] = masses[last];
  }
};

}  // namespace bench
