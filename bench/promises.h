// What Muster promises of every input and every row, kept by hand over plain arrays. The variants `as_promised` (promised_bench.cc) are
// limits with it: what is left between them and Muster is Muster's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
    benchmark::DoNotOptimize(this);
  }
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

  /// A call from outside while it lives: what was posted comes before it, so somebody must ask whether anything was, or whether an earlier
  /// cascade left something; and a sink or a handler that uses the registry is found out.
  class Call {
   public:
    explicit Call(Promises& promises) noexcept : inside_(promises.inside_) {
      if ((inside_.get() | promises.posted_ | promises.cascade_) != 0) [[unlikely]]
        std::abort();  // the general way
      inside_ = 1;
    }
    ~Call() { inside_ = 0; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    muster::Shown<std::uint64_t>& inside_;
  };
  /// A sink that throws refuses the input, whose number is then not taken.
  void tell(std::span<const std::byte> sealed) {
    envelope_.sequence = sequence_ + 1;
    sink_->on_input(envelope_, sealed);
    sequence_ = envelope_.sequence;
  }
  /// Who looks at what goes on, a watchdog, sees which handler is called, and for whom.
  void calls(muster::Entity target, std::uint64_t handler) noexcept {
    target_ = target.bits();
    inside_ = handler;
  }
  /// Before a call ends: what handlers posted is delivered first, and receipts are shown to sinks that want them.
  void end() const noexcept {
    if ((cascade_ | static_cast<std::uint64_t>(receipts_)) != 0) [[unlikely]]
      std::abort();
  }
  void handled(std::uint64_t count = 1) noexcept { handled_ += count; }
  void dead() noexcept { ++dead_; }
  /// Whether anybody is to hear that rows come, go or move: handlers of these messages, or managers.
  bool anybody_hears() const noexcept { return hearers_ != 0; }
  /// As after a checkpoint: every column's next write is its first.
  void checkpoint() noexcept { ++version_; }
  std::uint64_t version() const noexcept { return version_; }
  /// Before a write to a row of a column.
  template <std::size_t columns>
  void touch(std::array<std::vector<std::uint64_t>, columns>& versions, std::size_t column, std::uint32_t row) {
    touch(versions[column][row >> chunk_shift], column);
  }
  void touch(std::uint64_t& version, std::size_t column) {
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
  muster::Shown<std::uint64_t> inside_, target_, sequence_;  // read by observers on other threads
  std::uint64_t posted_ = 0, cascade_ = 0, hearers_ = 0;
  bool receipts_ = false;
  std::uint64_t version_ = 1, handled_ = 0, dead_ = 0;
};

/// Rows with versions, and ids that never name two entities: they come back through a queue, first in, first out.
struct PromisedRows : PlainRows {
  enum Column : std::uint8_t { in_ids, in_positions, in_velocities, in_masses, in_extras };
  std::array<std::vector<std::uint64_t>, 5> versions;
  std::vector<std::uint64_t> id_versions;  // by page of 4,096 ids: a save writes those that changed
  std::vector<std::uint32_t> queue;        // a ring; a power of two
  std::uint32_t head = 0, tail = 0;

  explicit PromisedRows(std::uint32_t rows = many)
      : PlainRows(rows), id_versions((rows >> 12) + 1), queue(std::size_t{1} << 15) {
    for (auto& column : versions) column.resize(Promises::chunks(rows));
  }
  /// As if all ids had been drawn again.
  void fill() {
    PlainRows::fill();
    head = tail;
  }
  void give_back(std::uint32_t index) noexcept { queue[tail++ & (queue.size() - 1)] = index; }
  std::uint32_t draw() noexcept { return queue[head++ & (queue.size() - 1)]; }

  /// Of ids that were never given, of old ones and of those that wait for their Create: null.
  PlainSlot* alive(muster::Entity e) noexcept {
    PlainSlot* const slot = slots.data() + e.index;
    return slot < slots.data() + slots.size() && slot->generation == e.generation && slot->row < no_row ? slot
                                                                                                        : nullptr;
  }
  /// Takes an id back. One whose generations are used up is not given again, and no id that was given back is alive before its Create.
  void free(Promises& promises, muster::Entity e) {
    if (e.generation + 1 == 0xffffffff || tail - head == queue.size()) [[unlikely]]
      std::abort();
    slots[e.index] = {e.generation + 1, no_row};
    give_back(e.index);
    id_versions[e.index >> 12] = promises.version();
  }
  static constexpr std::uint32_t no_row = 0x80000000u;

  /// Before a row comes, goes or fills a hole: all columns of its chunk change, and then that of ids.
  void touch(Promises& promises, std::uint32_t row, std::size_t columns = 4) {
    if (versions[in_ids][row >> Promises::chunk_shift] == promises.version()) [[likely]]
      return;
    for (std::size_t column = columns; column-- > 0;) promises.touch(versions, column, row);
  }
  /// The last row takes the place of another.
  void fill_hole(Promises& promises, std::uint32_t row) {
    const std::uint32_t last = --count;
    touch(promises, row);
    touch(promises, last);
    const muster::Entity filler = ids[last];
    ids[row] = filler;
    slots[filler.index].row = row;
    positions[row] = positions[last];
    velocities[row] = velocities[last];
    masses[row] = masses[last];
  }
};

}  // namespace bench
