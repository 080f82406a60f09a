// The chapters of docs/guide.md, each a function that runs its snippets. The guide shows the code
// between `// guide: NAME` and `// guide: end`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace guide {

/// Stops the program if a condition is false.
inline void require(bool holds, std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: check failed\n", at.file_name(), static_cast<unsigned>(at.line()));
  std::exit(1);
}

void components();
void messages();
void handlers();
void managers();
void templates();

}  // namespace guide
