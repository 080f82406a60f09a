// Runs schemac as a person does, in a folder of its own, and keeps what it says.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace test {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "schema-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

struct Said {
  int code = -1;
  std::string errors, output;
};

/// `arguments` as a shell reads them; the working folder is `folder`.
inline Said run_schemac(const Folder& folder, const std::string& arguments) {
  const std::string command = "cd '" + folder.path.string() +
                              "' && '" SCHEMAC "' --flatc '" FLATC "' -I '" SOURCE_ROOT "' " + arguments +
                              " >said.out 2>said.err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder.path / "said.err"),
          read_text(folder.path / "said.out")};
}

}  // namespace test
