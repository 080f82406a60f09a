#include "client/cli/interrupt.h"

#include <csignal>
#include <utility>

#include "client/cli/failure.h"

namespace muster::cli {
namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void end_on_interrupt() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = std::signal(number, [](int signal) { came = signal; });
    if (number == SIGHUP && before == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

bool interrupted() noexcept { return came != 0; }

int interrupt_signal() noexcept { return came; }

void fail_of_interrupt(std::string text) {
  throw Failure{.exit = Exit::refused, .text = std::move(text), .signal = interrupt_signal()};
}

}  // namespace muster::cli
