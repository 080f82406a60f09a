// The result of reloading a plugin.
#pragma once

#include <string>

namespace muster {

struct ReloadedPlugin {
  std::string name, build, build_before;
  bool changed = true;  ///< false if the file contained the build that was already running
};

}  // namespace muster
