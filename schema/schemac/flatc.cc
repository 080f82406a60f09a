#include "schema/schemac/flatc.h"

#include <fcntl.h>
#include <flatbuffers/reflection.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "schema/schemac/high_defaults.h"

extern char** environ;

namespace muster::schemac {
ScratchFolder::ScratchFolder() {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? std::filesystem::path("/tmp") : base) / "schemac-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

bool ScratchFolder::can_be_written() const {
  const std::string probe = path_ + "/probe";
  const std::string bytes(std::size_t{1} << 16, '\n');
  const bool written = write_file(probe, bytes.data(), bytes.size()).has_value();
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return written;
}

namespace {
std::string read_to_end(int descriptor) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t bytes = ::read(descriptor, part, sizeof part);
    if (bytes > 0) text.append(part, static_cast<std::size_t>(bytes));
    if (bytes == 0 || (bytes < 0 && errno != EINTR)) return text;
  }
}
}  // namespace

std::expected<void, FlatcFailure> call_flatc(const std::string& flatc, const std::vector<std::string>& include_folders,
                                             const std::vector<std::string>& words) {
  std::vector<std::string> all = {flatc};
  for (const std::string& folder : include_folders) {
    all.push_back("-I");
    all.push_back(folder);
  }
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return std::unexpected(FlatcFailure{false, std::string("cannot make a pipe: ") + std::strerror(errno), {}});
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, flatc.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  if (error == 0) said = read_to_end(ends[0]);
  ::close(ends[0]);
  if (error != 0) return std::unexpected(FlatcFailure{false, "cannot run " + flatc + ": " + std::strerror(error), {}});
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return std::unexpected(FlatcFailure{false, "cannot run " + flatc, {}});
  if (WIFSIGNALED(status))
    return std::unexpected(FlatcFailure{true, "flatc was killed by signal " + std::to_string(WTERMSIG(status)), {}});
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::unexpected(FlatcFailure{true, "flatc refuses it, see above", std::move(said)});
  std::fputs(said.c_str(), stderr);
  return {};
}

namespace {
FlatcFailure no_room(const ScratchFolder& scratch) {
  return {
      false, "cannot write to " + scratch.path() + ", where flatc puts what it makes; TMPDIR names another folder", {}};
}
bool is_whole(const std::vector<std::byte>& bfbs) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(bfbs.data());
  flatbuffers::Verifier verifier(bytes, bfbs.size(), 64, 1u << 18);
  return bfbs.size() >= 16 && reflection::VerifySchemaBuffer(verifier);
}
}  // namespace

std::expected<std::vector<std::byte>, FlatcFailure> run_flatc(const std::string& flatc,
                                                              const std::vector<std::string>& include_folders,
                                                              const std::string& source) {
  const ScratchFolder scratch;
  if (scratch.path().empty())
    return std::unexpected(
        FlatcFailure{false, std::string("cannot make a scratch folder: ") + std::strerror(errno), {}});
  // Without an explicit root folder, flatc does not record which file declares each type.
  const std::string folder = std::filesystem::path(source).parent_path().string();
  if (auto done = call_flatc(flatc, include_folders,
                             {"-b", "--schema", "--bfbs-comments", "--bfbs-builtins", "--bfbs-filenames",
                              folder.empty() ? "." : folder, "-o", scratch.path(), source});
      !done)
    return std::unexpected(scratch.can_be_written() ? std::move(done.error()) : no_room(scratch));
  const std::filesystem::path result =
      std::filesystem::path(scratch.path()) / std::filesystem::path(source).filename().replace_extension(".bfbs");
  auto bytes = read_file(result.string());
  // flatc reports no error if it fails to write the end of a file.
  if ((!bytes || !is_whole(*bytes)) && !scratch.can_be_written()) return std::unexpected(no_room(scratch));
  if (!bytes) return std::unexpected(FlatcFailure{false, "flatc wrote no " + result.filename().string(), {}});
  if (auto done = put_high_defaults(*bytes, flatc, include_folders, source); !done)
    return std::unexpected(std::move(done.error()));
  return std::move(*bytes);
}

std::expected<std::vector<std::byte>, std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected("cannot read it: " + std::string(std::strerror(errno)));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::unexpected("cannot read it: " + std::string(std::strerror(errno)));
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::expected<void, std::string> write_file(const std::string& path, const void* data, std::size_t bytes) {
  if (auto present = read_file(path);
      present && present->size() == bytes && (bytes == 0 || std::memcmp(present->data(), data, bytes) == 0))
    return {};
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  if (!file) return std::unexpected("cannot write it: " + std::string(std::strerror(errno)));
  return {};
}

}  // namespace muster::schemac
