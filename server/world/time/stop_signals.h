// Makes SIGINT and SIGTERM stop worlds; see WorldOptions::stop_on_signals.
#pragma once

#include <atomic>

namespace muster {

class Wake;

/// As long as an object of this class exists, SIGINT and SIGTERM set its flag and wake the sleeping
/// thread. The first signal of each kind also restores the handler that the program had before, so
/// that a second signal ends a program that fails to stop. Several objects may exist, including on
/// different threads; each signal reaches all of them. The last destructor restores both handlers,
/// unless the program has replaced them in the meantime.
class StopSignals {
 public:
  /// Both arguments must outlive the object.
  StopSignals(std::atomic<bool>& stopped, const Wake& wake) noexcept;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  static void on_signal(int signal) noexcept;

  std::atomic<bool>& stopped_;
  const Wake& wake_;
  std::atomic<StopSignals*> next_ = nullptr;
};

}  // namespace muster
