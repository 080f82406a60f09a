#include "server/token_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/access/users.h"

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

std::expected<bool, std::string> make_token_file(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) return false;
  const auto fail = [&] {
    return std::unexpected(path + ": the file with a new token cannot be made: " + std::strerror(errno));
  };
  if (errno != ENOENT) return fail();
  // Write the file under a temporary name and then link it, because link() neither follows nor
  // replaces an entry that another process has created.
  std::string unfinished = path + "-XXXXXX";
  const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);  // O_EXCL, mode 0600
  if (file < 0) return fail();
  const std::string text = draw_token() + "\n";
  errno = ENOSPC;  // a short write does not set errno
  bool good = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  good = good && ::link(unfinished.c_str(), path.c_str()) == 0;
  const int why = errno;
  ::close(file);
  ::unlink(unfinished.c_str());
  errno = why;
  if (!good && why == EEXIST) return false;
  if (!good) return fail();
  return true;
}

}  // namespace muster
