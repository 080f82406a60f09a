// Measures work in processor time. Unlike wall time, processor time does not depend on other
// programs.
#pragma once

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "system/mutex.h"

namespace muster {

/// Reads the processor time of one thread. Cheap to copy. May be used by any thread.
class ProcessorClock {
 public:
  /// Returns the clock of the calling thread.
  static ProcessorClock of_this_thread() noexcept {
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    ::pthread_getcpuclockid(::pthread_self(), &clock);
    return ProcessorClock(clock);
  }
  /// Returns the time in ns, or 0 if the thread has ended.
  std::uint64_t now_ns() const noexcept {
    timespec now{};
    if (::clock_gettime(clock_, &now) != 0) return 0;
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }

 private:
  explicit ProcessorClock(clockid_t clock) noexcept : clock_(clock) {}
  clockid_t clock_;
};

/// Reads the processor time of one thread frequently. A kernel call takes as long as a small edit,
/// so this class queries the kernel at most once per span_ns and adds the wall time that has passed
/// since then. The result never decreases. If another thread was using the processor, the result
/// exceeds the true time by less than span_ns. Any thread may read the time; the measured thread
/// has a reading of its own and takes no lock.
class FrequentProcessorClock {
 public:
  static constexpr std::uint64_t span_ns = 32'000;

  /// Measures the thread that constructs this object.
  FrequentProcessorClock() noexcept : kernel_(ProcessorClock::of_this_thread()), owner_(::pthread_self()) {}

  /// Returns the time in ns.
  std::uint64_t now_ns() noexcept {
    if (::pthread_equal(::pthread_self(), owner_)) return now_ns(owners_);
    const MutexLock lock(mutex_);
    return now_ns(others_);
  }

 private:
  struct Reading {
    std::uint64_t asked_at_ns = 0, used_ns = 0, told_ns = 0;
  };

  std::uint64_t now_ns(Reading& last) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::uint64_t day_ns =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    if (day_ns - last.asked_at_ns >= span_ns) {
      last.asked_at_ns = day_ns;
      last.used_ns = kernel_.now_ns();
    }
    last.told_ns = std::max(last.told_ns, last.used_ns + (day_ns - last.asked_at_ns));
    return last.told_ns;
  }

  const ProcessorClock kernel_;
  const pthread_t owner_;
  Reading owners_;
  Mutex mutex_;
  Reading others_ MUSTER_GUARDED_BY(mutex_);
};

/// A histogram of times. The width of each class is at most 1/32 of the times in that class. Uses
/// seven kilobytes, regardless of how many times are counted. Not thread-safe.
class TimeCounts {
 public:
  static constexpr std::uint32_t classes = 832;

  void add(std::uint64_t ns) noexcept {
    ++counts_[class_of(ns)];
    ++all_;
    longest_ns_ = std::max(longest_ns_, ns);
  }
  std::uint64_t all() const noexcept { return all_; }
  std::uint64_t longest_ns() const noexcept { return longest_ns_; }
  std::uint64_t count(std::uint32_t number) const noexcept { return counts_[number]; }

  /// Returns the class of a time. Times below 1024 ns are in class 0, and times above one minute
  /// are in the last class.
  static constexpr std::uint32_t class_of(std::uint64_t ns) noexcept {
    if (ns < 1024) return 0;
    const auto octave = static_cast<std::uint32_t>(std::bit_width(ns)) - 11;
    const auto part = static_cast<std::uint32_t>(ns >> (octave + 5)) & (parts - 1);
    return std::min(octave * parts + part + 1, classes - 1);
  }
  /// Returns the upper bound of a class in ns.
  static constexpr std::uint64_t end_of(std::uint32_t number) noexcept {
    return number + 1 >= classes ? ~std::uint64_t{0} : (parts + std::uint64_t{number % parts}) << (number / parts + 5);
  }

 private:
  static constexpr std::uint32_t parts = 32;  // per octave
  std::array<std::uint64_t, classes> counts_{};
  std::uint64_t all_ = 0, longest_ns_ = 0;
};

}  // namespace muster
