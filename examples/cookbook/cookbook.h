// The recipes of docs/cookbook.md, one function per chapter. The text between `// guide: NAME` and
// `// guide: end` is what the page shows.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace cook {

/// Stops the program if something does not hold.
inline void require(bool holds, std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: check failed\n", at.file_name(), static_cast<unsigned>(at.line()));
  std::exit(1);
}

void entities();
void behaviour();
void copies();
void tools();
void coming_from();

}  // namespace cook
