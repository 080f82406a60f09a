// How much the tests do: less under sanitizers, and what the environment says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace naive {

inline std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool under_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool under_sanitizer = true;
#else
constexpr bool under_sanitizer = false;
#endif
#else
constexpr bool under_sanitizer = false;
#endif

/// How long and from where: a fixed number of seeds from the first. Where MUSTER_SOAK_MINUTES is set and the number is not:
/// `soak_first` of them, however long that takes, and then as many as fit half of that time, which are new each time.
class Seeds {
 public:
  Seeds(const char* count_variable, const char* first_variable, std::uint64_t usual, std::uint64_t soak_first = 0) {
    using std::chrono::seconds;
    using std::chrono::steady_clock;
    using std::chrono::system_clock;
    const std::uint64_t minutes = std::getenv(count_variable) ? 0 : number_in("MUSTER_SOAK_MINUTES", 0);
    const auto now = std::chrono::duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
    until_ = steady_clock::now() + seconds(30 * minutes);
    timed_ = minutes != 0;
    count_ = timed_ ? soak_first : number_in(count_variable, usual);
    first_ = number_in(first_variable, 1);
    new_first_ = static_cast<std::uint64_t>(now) * 1'000'000;
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

/// Told before something that may crash: it is written to standard error if the program stops.
/// `what` must live until the next call.
void running(std::uint64_t seed, std::size_t step, const char* what);

}  // namespace naive
