// A folder for one test's plugin files, with the builds of this test to copy from.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/support/folder.h"

namespace muster::testing {

/// Holds builds of plugins.
class PluginFolder : public test::Folder {
 public:
  std::string path(const std::string& name) const { return *this / name; }
  /// Writes a build over NAME.so, into the very file that is there, as a careless tool would. Returns its path.
  std::string put(const std::string& name, const std::string& build) const {
    return write(name, read(std::string(MUSTER_TEST_PLUGINS "/lib") + build + ".so"));
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    return Folder::write(name + ".so", bytes).string();
  }
  static std::string read(const std::string& path) { return test::read_file(path); }
  std::size_t files() const { return names().size(); }
};

/// Has the plugins of this test misbehave while it lives.
class Told {
 public:
  explicit Told(const char* what) { ::setenv("MUSTER_TEST_PLUGIN", what, 1); }
  ~Told() { ::unsetenv("MUSTER_TEST_PLUGIN"); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
};

}  // namespace muster::testing
