#include <csignal>
#include <cstdio>

#include "tests/model/settings.h"

namespace naive {

namespace {

volatile std::uint64_t running_seed = 0;
volatile std::size_t running_step = 0;
const char* volatile running_what = "";

extern "C" void tell_what_ran(int signal) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, "\nseed %llu stopped at step %zu, %s (signal %d)\n",
                                   static_cast<unsigned long long>(running_seed),
                                   static_cast<std::size_t>(running_step), running_what, signal);
  if (length > 0) std::fwrite(text, 1, static_cast<std::size_t>(length), stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void running(std::uint64_t seed, std::size_t step, const char* what) {
  // Catch sets its own for the length of a test case.
  std::signal(SIGABRT, tell_what_ran);
  std::signal(SIGSEGV, tell_what_ran);
  running_seed = seed;
  running_step = step;
  running_what = what;
}

}  // namespace naive
