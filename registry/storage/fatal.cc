#include "registry/storage/fatal.h"

#include <cstdio>
#include <cstdlib>

namespace muster {

void fatal(std::string_view what) noexcept {
  std::fprintf(stderr, "muster: %.*s\n", static_cast<int>(what.size()), what.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace muster
