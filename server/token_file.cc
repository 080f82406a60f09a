#include "server/token_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/access/users.h"
#include "system/real_path.h"
#include "system/sync_folder.h"

namespace muster {

std::expected<std::string, std::string> read_token_file(const std::string& path) {
  std::ifstream file(path);
  std::string token, line;
  if (!file || !std::getline(file, token)) return std::unexpected(path + ": no token can be read from it");
  const auto trim = [](std::string& text) {
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
  };
  trim(token);
  if (token.size() < 16) return std::unexpected(path + ", line 1: a token has at least 16 characters");
  for (int number = 2; std::getline(file, line); ++number) {
    trim(line);
    if (!line.empty())
      return std::unexpected(path + ", line " + std::to_string(number) +
                             ": the file has one token; to give a user another one, use 'muster token create'");
  }
  return token;
}

namespace {

/// Writes the token to a new file next to `path`, with mode 0600, and calls `place` with its name.
/// Returns true if `place` does. Otherwise, sets errno, and leaves no file.
template <class Place>
bool write_beside(const std::string& path, const std::string& token, const Place& place) {
  std::string unfinished = path + "-XXXXXX";
  const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);  // O_EXCL, mode 0600
  if (file < 0) return false;
  const std::string text = token + "\n";
  errno = ENOSPC;  // a short write does not set errno
  bool good = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  good = good && place(unfinished);
  const int why = errno;
  ::close(file);
  ::unlink(unfinished.c_str());
  errno = why;
  return good;
}

}  // namespace

std::expected<bool, std::string> make_token_file(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) return false;
  const auto fail = [&] {
    return std::unexpected(path + ": the file with a new token cannot be made: " + std::strerror(errno));
  };
  if (errno != ENOENT) return fail();
  // link() neither follows nor replaces an entry that another process has created.
  const bool made = write_beside(
      path, draw_token(), [&](const std::string& unfinished) { return ::link(unfinished.c_str(), path.c_str()) == 0; });
  if (!made && errno == EEXIST) return false;
  if (!made) return fail();
  return true;
}

std::expected<void, std::string> write_token_file(const std::string& path, const std::string& token) {
  const std::string real = real_path(path);
  const bool replaced = write_beside(
      real, token, [&](const std::string& unfinished) { return ::rename(unfinished.c_str(), real.c_str()) == 0; });
  if (!replaced)
    return std::unexpected(path + ": the new token cannot be written: " + std::strerror(errno) + "; the old one stays");
  sync_folder_of(real);
  return {};
}

}  // namespace muster
