// The result of loading a plugin again.
#pragma once

#include <string>

namespace muster {

struct ReloadedPlugin {
  std::string name, build, build_before;
  bool changed = true;  ///< false if the file was already running
};

}  // namespace muster
