// What became of a plugin that was loaded again.
#pragma once

#include <string>

namespace muster {

struct ReloadedPlugin {
  std::string name, build, build_before;
  bool changed = true;  ///< false: the file is the one that was running
};

}  // namespace muster
