// Splits the hierarchy into jobs of whole branches. Used for handlers that write a component and
// also read it from ancestors, when the individual depths have too few rows to be shared among
// workers. Below the cut depth, each row belongs to the same job as its parent, so a job can
// process its depths without waiting for other jobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "registry/storage/storage.h"

namespace muster {

class Branches {
 public:
  /// Consecutive rows of a single chunk.
  struct Run {
    Chunk* chunk = nullptr;
    std::uint32_t begin = 0, end = 0;
  };

  /// True if prepare() would have nothing to do.
  bool fits(const Storage& storage, std::uint32_t jobs) const noexcept {
    return structure_ == storage.structure() && jobs_.size() == jobs;
  }
  /// Splits the rows into jobs. Visits every row once, or several times if the first attempts
  /// produce uneven jobs. Returns false if there is no suitable depth, because nearly all rows are
  /// descendants of a single row.
  bool prepare(const Storage& storage, std::uint32_t jobs);

  /// Returns the smallest depth whose rows are in jobs.
  std::uint32_t cut() const noexcept { return cut_; }
  bool even() const noexcept { return even_; }
  std::uint32_t jobs() const noexcept { return static_cast<std::uint32_t>(jobs_.size()); }
  /// Returns the runs of a job, in row order.
  std::span<const Run> runs(std::uint32_t job) const noexcept { return jobs_[job]; }

 private:
  /// Divides the rows at depth `cut`, together with their descendants, among the jobs. Returns the
  /// largest fraction of these rows that is assigned to a single job.
  double share_out(const Storage& storage, std::uint32_t cut);

  std::uint64_t structure_ = ~std::uint64_t{0};
  std::uint32_t cut_ = 0;
  bool even_ = false;
  std::vector<std::vector<Run>> jobs_;
  std::vector<std::uint32_t> first_;  // by chunk number: index in top_ of the chunk's first row
  std::vector<std::uint32_t> top_;    // per row: index of its ancestor at the cut depth
  std::vector<std::uint32_t> below_;  // per row at the cut depth: number of rows in its branch
  std::vector<std::uint32_t> job_;    // per row at the cut depth: its job
};

}  // namespace muster
