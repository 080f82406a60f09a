// Splits the hierarchy into jobs of whole branches. Used for handlers that write a component and
// also read it from ancestors, if each depth has too few rows to be shared among workers. Below the
// depth of the cut, a row is in the job of its parent, so a job processes its depths without
// waiting for others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

class Branches {
 public:
  /// Consecutive rows of a chunk.
  struct Run {
    Chunk* chunk = nullptr;
    std::uint32_t begin = 0, end = 0;
  };

  /// True if prepare() would have nothing to do.
  bool fits(const Storage& storage, std::uint32_t jobs) const noexcept {
    return structure_ == storage.structure() && jobs_.size() == jobs;
  }
  /// Splits the rows into jobs. Visits every row once, or several times if the first attempts give
  /// uneven jobs. Returns false if there is no depth at which to split, because nearly all rows are
  /// descendants of a single row.
  bool prepare(const Storage& storage, std::uint32_t jobs);

  /// The smallest depth whose rows are in jobs.
  std::uint32_t cut() const noexcept { return cut_; }
  bool even() const noexcept { return even_; }
  std::uint32_t jobs() const noexcept { return static_cast<std::uint32_t>(jobs_.size()); }
  /// In row order.
  std::span<const Run> runs(std::uint32_t job) const noexcept { return jobs_[job]; }

 private:
  /// Splits the rows at the depth `cut` among the jobs. Returns the largest fraction of the rows
  /// below that depth that one job gets.
  double share_out(const Storage& storage, std::uint32_t cut);

  std::uint64_t structure_ = ~std::uint64_t{0};
  std::uint32_t cut_ = 0;
  bool even_ = false;
  std::vector<std::vector<Run>> jobs_;
  std::vector<std::uint32_t> first_;  // index of a chunk's rows in top_, by chunk number
  std::vector<std::uint32_t> top_;    // per row: row of its ancestor at the depth of the cut
  std::vector<std::uint32_t> below_;  // per row at the cut: number of rows in its branch
  std::vector<std::uint32_t> job_;    // per row of that depth
};

}  // namespace muster
