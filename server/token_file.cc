#include "server/token_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "schema/kinds.h"
#include "server/access/users.h"

namespace muster {

std::expected<Tokens, std::string> read_token_file(const std::string& path) {
  Tokens tokens;
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::unexpected(path + ": no token can be read from it");
  for (int number = 1; number == 1 || std::getline(file, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() && number > 1) continue;
    const std::size_t space = number == 1 ? 0 : line.find(' ') + 1;
    const std::string right = line.substr(0, space == 0 ? 0 : space - 1), token = line.substr(space);
    const std::string where = path + ", line " + std::to_string(number);
    if (number > 1 && (!right_named(right) || *right_named(right) == RemoteRight::none))
      return std::unexpected(where +
                             ": a right and a token are expected; the rights are view, edit, control and admin");
    if (token.size() < 16) return std::unexpected(where + ": a token has at least 16 characters");
    if (number == 1)
      tokens.all = token;
    else
      tokens.more.emplace_back(token, right);
  }
  return tokens;
}

std::expected<bool, std::string> make_token_file(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) return false;
  const auto fail = [&] {
    return std::unexpected(path + ": the file with a new token cannot be made: " + std::strerror(errno));
  };
  if (errno != ENOENT) return fail();
  // The file is first written under another name, because link neither follows nor replaces an
  // entry created by another process.
  std::string unfinished = path + "-XXXXXX";
  const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);  // O_EXCL, mode 0600
  if (file < 0) return fail();
  const std::string text = draw_token() + "\n";
  errno = ENOSPC;  // in case of a short write
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
