// What every test executable shares: the last line of its output is `N passed, N failed`, counted in test cases, which
// is what tools/test adds up. Catch's own main comes from the system's library where there is one.
#if !defined(MUSTER_HAVE_CATCH_MAIN)
#define CATCH_CONFIG_MAIN
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif
#include <catch2/catch.hpp>
#include <cstdio>

namespace {

class CountingListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
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
