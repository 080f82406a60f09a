#include "registry/delivery/branches.h"

#include <algorithm>

namespace muster {

namespace {

/// Calls f(chunk) for the chunks at depths [depth, end), in row order.
template <class F>
void each_chunk(const Storage& storage, std::uint32_t depth, std::uint32_t end, F&& f) {
  for (; depth < end; ++depth)
    for (const auto& archetype : storage.archetypes()) {
      if (!archetype || depth >= archetype->groups.size()) continue;
      for (Chunk* chunk : archetype->groups[depth].chunks) f(*chunk);
    }
}

}  // namespace

double Branches::share_out(const Storage& storage, std::uint32_t cut) {
  cut_ = cut;
  first_.assign(storage.chunk_numbers(), 0);
  below_.clear();
  std::uint32_t rows = 0;
  each_chunk(storage, cut, storage.depths(), [&](const Chunk& chunk) {
    first_[chunk.number] = rows;
    rows += chunk.count;
  });
  top_.resize(rows);
  each_chunk(storage, cut, cut + 1, [&](const Chunk& chunk) {
    for (std::uint32_t row = 0; row < chunk.count; ++row) {
      top_[first_[chunk.number] + row] = static_cast<std::uint32_t>(below_.size());
      below_.push_back(1);
    }
  });
  each_chunk(storage, cut + 1, storage.depths(), [&](const Chunk& chunk) {
    const Entity* parents = chunk.parents();
    std::uint32_t* top = top_.data() + first_[chunk.number];
    for (std::uint32_t row = 0; row < chunk.count; ++row) {
      const Row up = storage.find(parents[row]);
      top[row] = top_[first_[up.chunk->number] + up.row];
      ++below_[top[row]];
    }
  });
  // Assign the rows at the cut depth in order. Each job gets the number of remaining rows divided
  // by the number of remaining jobs.
  const auto jobs = static_cast<std::uint32_t>(jobs_.size());
  job_.resize(below_.size());
  std::uint64_t left = rows, taken = 0, largest = 0;
  std::uint32_t job = 0;
  for (std::size_t i = 0; i < below_.size(); ++i) {
    job_[i] = job;
    taken += below_[i];
    largest = std::max(largest, taken);
    if (job + 1 < jobs && taken >= left / (jobs - job)) {
      left -= taken;
      taken = 0;
      ++job;
    }
  }
  return rows == 0 ? 1 : static_cast<double>(largest) / rows;
}

bool Branches::prepare(const Storage& storage, std::uint32_t jobs) {
  if (fits(storage, jobs)) return even_;
  jobs_.resize(jobs);
  for (std::vector<Run>& runs : jobs_) runs.clear();
  structure_ = storage.structure();
  even_ = false;
  // Start at the first depth with enough rows. Go deeper if most of the other rows are descendants
  // of a single row.
  std::uint32_t tries = 3;
  for (std::uint32_t cut = 0; cut < storage.depths() && tries > 0; ++cut) {
    std::uint64_t rows = 0;
    for (const auto& archetype : storage.archetypes())
      if (archetype && cut < archetype->groups.size()) rows += archetype->groups[cut].rows();
    if (rows < jobs) continue;
    --tries;
    if (share_out(storage, cut) <= 2.0 / jobs) {
      even_ = true;
      break;
    }
  }
  if (!even_) return false;
  each_chunk(storage, cut_, storage.depths(), [&](Chunk& chunk) {
    const std::uint32_t* top = top_.data() + first_[chunk.number];
    for (std::uint32_t row = 0; row < chunk.count;) {
      const std::uint32_t job = job_[top[row]], begin = row;
      do ++row;
      while (row < chunk.count && job_[top[row]] == job);
      jobs_[job].push_back({&chunk, begin, row});
    }
  });
  return true;
}

}  // namespace muster
