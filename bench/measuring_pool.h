// An executor that notes what its workers do, for rows on several workers: they count processor time, so that other programs on the machine
// do not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/support.h"
#include "registry/delivery/thread_pool.h"

namespace bench {

/// Notes what each job of a run takes.
class MeasuringPool final : public muster::Executor {
 public:
  /// With `one_thread` all jobs are done by the caller, one after another.
  MeasuringPool(std::uint32_t workers, bool one_thread) : pool_(workers), one_thread_(one_thread), share_(workers) {}
  std::uint32_t workers() const noexcept override { return pool_.workers(); }
  void run(std::uint32_t count, void (*job)(void*, std::uint32_t), void* context) override {
    if (one_thread_) {
      for (std::uint32_t i = 0; i < count; ++i) job(context, i);
      return;
    }
    struct Both {
      MeasuringPool& self;
      void (*job)(void*, std::uint32_t);
      void* context;
    } both{*this, job, context};
    share_.assign(share_.size(), {});
    pool_.run(
        count,
        [](void* at, std::uint32_t i) {
          Both& b = *static_cast<Both*>(at);
          const double begin = thread_ns();
          b.job(b.context, i);
          b.self.share_[i].ns = thread_ns() - begin;
        },
        &both);
    double most = 0, sum = 0;
    for (const Share& share : share_) most = std::max(most, share.ns), sum += share.ns;
    // The first job is the registry's thread's.
    extra_ += sum / static_cast<double>(share_.size()) - share_[0].ns;
    larger_ += most - share_[0].ns;
  }
  /// What is to be added to the registry's thread's time of a pass; begins anew.
  double extra() noexcept { return std::exchange(extra_, 0); }
  double larger() noexcept { return std::exchange(larger_, 0); }

 private:
  struct alignas(64) Share {
    double ns = 0;
  };
  muster::ThreadPool pool_;
  const bool one_thread_;
  std::vector<Share> share_;
  double extra_ = 0, larger_ = 0;
};

}  // namespace bench
