// Cuts the hierarchy into jobs of whole branches: for handlers that read from ancestors what they write, where the rows
// of each depth are too few to be shared out depth by depth. Below the depth of the cut a row is in the job of its parent,
// so a job goes through its depths without waiting for anybody.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

class Branches {
 public:
  /// Rows that follow one another in a chunk.
  struct Run {
    Chunk* chunk = nullptr;
    std::uint32_t begin = 0, end = 0;
  };

  /// Whether prepare() would have nothing to do.
  bool fits(const Storage& storage, std::uint32_t jobs) const noexcept {
    return structure_ == storage.structure() && jobs_.size() == jobs;
  }
  /// Looks at every row once, or several times where the first cuts are uneven. False where the rows of no depth can be
  /// shared out: nearly all are below one of them.
  bool prepare(const Storage& storage, std::uint32_t jobs);

  /// The least depth whose rows are in jobs.
  std::uint32_t cut() const noexcept { return cut_; }
  bool even() const noexcept { return even_; }
  std::uint32_t jobs() const noexcept { return static_cast<std::uint32_t>(jobs_.size()); }
  /// In row order.
  std::span<const Run> runs(std::uint32_t job) const noexcept { return jobs_[job]; }

 private:
  /// The largest share of all rows below the cut that one job gets.
  double share_out(const Storage& storage, std::uint32_t cut);

  std::uint64_t structure_ = ~std::uint64_t{0};
  std::uint32_t cut_ = 0;
  bool even_ = false;
  std::vector<std::vector<Run>> jobs_;
  std::vector<std::uint32_t> first_;  // by chunk number: where its rows are in top_
  std::vector<std::uint32_t> top_;    // per row: which row of the depth of the cut it is below
  std::vector<std::uint32_t> below_;  // per such row: how many rows it and those below it are
  std::vector<std::uint32_t> job_;    // per such row
};

}  // namespace muster
