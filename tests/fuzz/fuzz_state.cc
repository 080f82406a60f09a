// Saved state with any edits is refused, saying where, or is a world like any other.
#include <cstdio>

#include "tests/fuzz/state_edits.h"
#include "tests/model/state_life.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const naive::StateRows good = naive::some_state(1);
  const naive::StateRows rows = fuzz::edited(good, {data, size});
  bool accepted = false;
  const std::string text = naive::load_and_live(rows, accepted, true);
  const bool fine = accepted ? text.empty() : naive::state_sections().contains(text.substr(0, text.find(' ')));
  if (!fine) {
    std::fprintf(stderr, "%s\n", text.c_str());
    __builtin_trap();
  }
  return 0;
}
