#include "server/plugins/schema_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/plugins/installed_folder.h"

extern char** environ;

namespace muster {
namespace {

std::expected<std::vector<std::byte>, std::string> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(path + ": cannot be read: " + std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::unexpected(path + ": cannot be read: " + std::strerror(errno));
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(bytes, bytes + text.size());
}

/// Returns the contents of a file without trailing newlines.
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

struct ScratchFolder {
  ScratchFolder() {
    std::error_code error;
    std::filesystem::path base = std::filesystem::temp_directory_path(error);
    if (error) base = "/tmp";
    std::string name = (base / "muster-schema-XXXXXX").string();
    if (::mkdtemp(name.data())) path = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path;
};

std::expected<std::vector<std::byte>, std::string> compile(const std::string& path,
                                                           const std::vector<std::string>& include_folders) {
  const ScratchFolder scratch;
  if (scratch.path.empty()) return std::unexpected(path + ": no folder for temporary files: " + std::strerror(errno));
  std::vector<std::string> words = {"flatc", "-b", "--schema", "--bfbs-comments", "--bfbs-builtins"};
  for (const std::string& folder : include_folders) words.insert(words.end(), {"-I", folder});
  words.insert(words.end(), {"-I", installed_folder(), "-o", scratch.path, path});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string said = scratch.path + "/said";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, said.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, "flatc", &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (failed == 0)
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (failed != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    return std::unexpected(
        path +
        ": flatc is needed to read it and was not found. Install it (Debian: flatbuffers-compiler), or "
        "make a binary schema elsewhere: flatc -b --schema --bfbs-comments --bfbs-builtins " +
        path);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string why = path + ": flatc refuses it:\n" + content_of(said);
    // Depending on the version, flatc prints "unable to load include file" or "unable to locate
    // include file".
    if (why.find("include file") != std::string::npos)
      why += "\n-I FOLDER names a folder in which included files are looked for, as often as there are such";
    return std::unexpected(std::move(why));
  }
  const auto made =
      std::filesystem::path(scratch.path) / std::filesystem::path(path).filename().replace_extension(".bfbs");
  return bytes_of(made.string());
}

}  // namespace

std::expected<std::vector<std::byte>, std::string> read_schema_file(const std::string& path,
                                                                    const std::vector<std::string>& include_folders) {
  if (!path.ends_with(".fbs")) return bytes_of(path);
  if (::access(path.c_str(), R_OK) != 0) return std::unexpected(path + ": cannot be read: " + std::strerror(errno));
  return compile(path, include_folders);
}

}  // namespace muster
