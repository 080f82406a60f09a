// A loop without a thread: tests take its steps.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "server/door/loop.h"

namespace muster::testing {

/// What is posted is done in turn, and what is to wait has waited.
class TestLoop final : public Loop {
 public:
  void post(std::move_only_function<void()> f) override { waiting_.push_back(std::move(f)); }
  void call_in(std::chrono::nanoseconds, std::move_only_function<void()> f) override { post(std::move(f)); }
  /// False: there was nothing to do.
  bool step() {
    if (waiting_.empty()) return false;
    auto f = std::move(waiting_.front());
    waiting_.pop_front();
    f();
    return true;
  }
  void run() {
    while (step()) {
    }
  }

 private:
  std::deque<std::move_only_function<void()>> waiting_;
};

}  // namespace muster::testing
