// Runs schemac as a person does, in a folder of its own, and keeps what it says.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/support/folder.h"

namespace test {

using muster::test::Folder;
using muster::test::read_file;
using muster::test::write_file;

struct Said {
  int code = -1;
  std::string errors, output;
};

/// Runs schemac as it is, with flatc alone named. `arguments` as a shell reads them; the working folder is `folder`.
inline Said run_schemac_alone(const Folder& folder, const std::string& arguments) {
  const std::string command =
      "cd '" + folder.path().string() + "' && '" SCHEMAC "' --flatc '" FLATC "' " + arguments + " >said.out 2>said.err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "said.err"), read_file(folder / "said.out")};
}
/// The same, with the source tree named.
inline Said run_schemac(const Folder& folder, const std::string& arguments) {
  return run_schemac_alone(folder, "-I '" SOURCE_ROOT "' " + arguments);
}

}  // namespace test
