// What every test executable shares: the last line of its output is `N passed, N failed`, counted in test cases, which
// is what tools/test adds up. Catch's own main comes from the system's library where there is one.
//
// Each test case has a deadline of its own, so that one that waits for ever is named, and says where it waited: 300 s, 1500 s
// where it is tagged [long]. MUSTER_TEST_SECONDS sets another; a soak (MUSTER_SOAK_MINUTES) has as much more as it runs.
#if !defined(MUSTER_HAVE_CATCH_MAIN)
#define CATCH_CONFIG_MAIN
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// What is said when the alarm comes: made before, because a signal handler can make nothing.
std::array<char, 1024> overdue;  // to standard error
std::array<char, 64> counts;     // to standard output

void on_alarm(int) {
  std::array<void*, 64> frames{};
  const auto say = [](int to, const char* text) { (void)!::write(to, text, std::strlen(text)); };
  say(STDERR_FILENO, overdue.data());
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  say(STDOUT_FILENO, counts.data());
  ::_exit(1);
}

unsigned number_in(const char* variable, unsigned otherwise) {
  const char* const text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

unsigned seconds_for(const Catch::TestCaseInfo& test) {
  const bool is_long = std::ranges::find(test.tags, "long") != test.tags.end();
  const unsigned usual = (is_long ? 1500u : 300u) + 600u * number_in("MUSTER_SOAK_MINUTES", 0);
  return number_in("MUSTER_TEST_SECONDS", usual);
}

class CountingListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    const unsigned seconds = seconds_for(test);
    std::snprintf(overdue.data(), overdue.size(), "\nthe test case \"%.800s\" took longer than %u s; it was at\n",
                  test.name.c_str(), seconds);
    std::snprintf(counts.data(), counts.size(), "\n%u passed, %u failed\n", passed_, failed_ + 1);
    std::fflush(stdout);
    std::signal(SIGALRM, on_alarm);
    ::alarm(seconds);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ::alarm(0);
    if (stats.totals.testCases.failed > 0)
      ++failed_;
    else
      ++passed_;
  }
  void testRunEnded(const Catch::TestRunStats&) override {
    std::fflush(stdout);
    std::fprintf(stdout, "\n%u passed, %u failed\n", passed_, failed_);
    std::fflush(stdout);
  }

 private:
  unsigned passed_ = 0, failed_ = 0;
};

}  // namespace

CATCH_REGISTER_LISTENER(CountingListener)
