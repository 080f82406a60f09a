// A folder for one test's plugin files, with the builds of this test to copy from.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace muster::testing {

class PluginFolder {
 public:
  PluginFolder() {
    char name[] = "/tmp/muster-plugins-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~PluginFolder() { std::filesystem::remove_all(path_); }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a build over NAME.so, into the very file that is there, as a careless tool would. Returns its path.
  std::string put(const std::string& name, const std::string& build) const {
    return write(name, read(std::string(MUSTER_TEST_PLUGINS "/lib") + build + ".so"));
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string file = path(name + ".so");
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) count += entry.is_regular_file();
    return count;
  }

 private:
  std::filesystem::path path_;
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
