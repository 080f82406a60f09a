// Where tests draw their random numbers from: fixed seeds, so that a run of tools/test never fails by luck. Only where
// MUSTER_SOAK_MINUTES says how long (tools/soak) are there new ones, and those are printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace muster::test {

inline std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The first of the seeds that are new in this second.
inline std::uint64_t new_seed() {
  using std::chrono::seconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<seconds>(now).count()) * 1'000'000;
}

/// For a test that takes less than a second: one fixed seed, the same in each run; in tools/soak `more` new ones besides.
inline std::vector<std::uint64_t> seeds(const char* test, std::uint64_t fixed, std::uint64_t more) {
  std::vector<std::uint64_t> all{fixed};
  if (number_in("MUSTER_SOAK_MINUTES", 0) == 0) return all;
  const std::uint64_t first = new_seed();
  for (std::uint64_t i = 0; i < more; ++i) all.push_back(first + i);
  std::printf("%s: seeds %llu, then %llu new ones from %llu\n", test, static_cast<unsigned long long>(fixed),
              static_cast<unsigned long long>(more), static_cast<unsigned long long>(first));
  return all;
}

/// How long and from where: a fixed number of seeds from the first. Where MUSTER_SOAK_MINUTES is set and the number is not:
/// `soak_first` of them, however long that takes, and then as many as fit half of that time, which are new each time.
class Seeds {
 public:
  Seeds(const char* count_variable, const char* first_variable, std::uint64_t usual, std::uint64_t soak_first = 0) {
    using std::chrono::seconds;
    using std::chrono::steady_clock;
    const std::uint64_t minutes = std::getenv(count_variable) ? 0 : number_in("MUSTER_SOAK_MINUTES", 0);
    until_ = steady_clock::now() + seconds(30 * minutes);
    timed_ = minutes != 0;
    count_ = timed_ ? soak_first : number_in(count_variable, usual);
    first_ = number_in(first_variable, 1);
    new_first_ = new_seed();
  }
  /// The next seed; false where they are used up.
  bool next(std::uint64_t& seed) {
    if (done_ < count_) {
      seed = first_ + done_++;
      return true;
    }
    if (!timed_ || std::chrono::steady_clock::now() >= until_) return false;
    seed = new_first_ + done_++ - count_;
    return true;
  }
  std::uint64_t first() const { return first_; }
  std::uint64_t done() const { return done_; }
  /// Which there were, for people: "1 and on, then 1795233600000000 and on".
  std::string text() const {
    const std::string fixed = std::to_string(first_) + " and on";
    if (done_ <= count_) return fixed;
    return (count_ ? fixed + ", then " : std::string()) + std::to_string(new_first_) + " and on";
  }

 private:
  std::uint64_t first_ = 1, new_first_ = 1, count_ = 0, done_ = 0;
  bool timed_ = false;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace muster::test
