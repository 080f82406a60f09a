// The engine's job system, lent to a registry for its passes.
#pragma once

#include <muster/registry.h>

#include "examples/embedding/jobs.h"

namespace engine {

// guide: executor
class JobExecutor final : public muster::Executor {
 public:
  explicit JobExecutor(Jobs& jobs) : jobs_(jobs) {}
  /// The thread that pushes works, too.
  std::uint32_t workers() const noexcept override { return jobs_.threads() + 1; }
  void run(std::uint32_t count, void (*job)(void* context, std::uint32_t i), void* context) override {
    jobs_.parallel(count, [=](unsigned i) { job(context, i); });
  }

 private:
  Jobs& jobs_;
};
// guide: end

}  // namespace engine
