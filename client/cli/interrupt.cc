#include "client/cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace muster::cli {
namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void end_on_interrupt() {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { came = 1; });
}

bool interrupted() noexcept { return came != 0; }

}  // namespace muster::cli
