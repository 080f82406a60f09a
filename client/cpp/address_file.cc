#include "client/cpp/address_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "system/held_lock.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

/// Parses the content of the address file, which is a flat JSON object of strings and numbers. No
/// other JSON is supported.
class FlatObject {
 public:
  explicit FlatObject(std::string_view text) : text_(text) {}

  /// Calls f(key, value) for each member. Returns false if the text is not a flat object of strings
  /// and numbers.
  template <class F>
  bool each(F&& f) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string key, value;
      if (!string(key) || !take(':') || !(string(value) || number(value))) return false;
      f(key, value);
    } while (take(','));
    return take('}');
  }

 private:
  void skip() {
    while (!text_.empty() && std::string_view(" \t\r\n").find(text_.front()) != std::string_view::npos)
      text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool number(std::string& value) {
    skip();
    while (!text_.empty() && (text_.front() == '-' || (text_.front() >= '0' && text_.front() <= '9'))) {
      value += text_.front();
      text_.remove_prefix(1);
    }
    return !value.empty();
  }
  bool string(std::string& value) {
    if (!take('"')) return false;
    while (!text_.empty()) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        value += c;
        continue;
      }
      if (text_.empty()) return false;
      const char escaped = text_.front();
      text_.remove_prefix(1);
      if (escaped == 'u') {  // the server escapes only control characters
        if (text_.size() < 4) return false;
        value += static_cast<char>(std::strtol(std::string(text_.substr(0, 4)).c_str(), nullptr, 16));
        text_.remove_prefix(4);
      } else {
        value += escaped;
      }
    }
    return false;
  }

  std::string_view text_;
};

/// Returns true if the world's file is there, but the process does not hold the world's lock file
/// (server/world/file/lock.h). In that case, the address file is left over, or is not the server's.
bool lacks_lock(const std::string& world_path, std::int64_t process) {
  const std::string world = real_path(world_path);
  struct stat found{};
  if (::stat(world.c_str(), &found) != 0) return false;
  const int file = open_file((world + "-lock").c_str(), O_RDONLY);
  if (file < 0) return errno != EACCES;
  const bool is_held = is_write_locked(file);
  char text[64] = {};
  long long holder = 0;
  const bool is_read =
      ::pread(file, text, sizeof text - 1, 0) > 0 && std::sscanf(text, "muster-lock 1\nprocess %lld", &holder) == 1;
  ::close(file);
  return !is_held || !is_read || holder != process;
}

}  // namespace

std::string address_file_of(const std::string& world_path) { return real_path(world_path) + "-server.json"; }

Result<ServerAddress> read_address_file(const std::string& world_path) {
  const std::string path = address_file_of(world_path);
  // Without O_NONBLOCK, opening a FIFO would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    const int why = errno;
    if (why == ENOENT)
      return std::unexpected(ClientError{ClientError::Kind::lost, "no server is running for " + world_path, {}});
    return mistaken("cannot read " + path + ": " + std::strerror(why));
  }
  struct stat found;
  std::string text(65536, '\0');
  const bool seen = ::fstat(file, &found) == 0;
  const bool is_file = seen && S_ISREG(found.st_mode);
  const ssize_t bytes = is_file ? ::read(file, text.data(), text.size()) : 0;
  ::close(file);
  if (seen && !is_file) return mistaken("cannot read " + path + ": it is not a regular file");
  if (!seen || bytes < 0) return mistaken("cannot read " + path);
  if ((found.st_mode & 077) != 0)
    return mistaken(path +
                    " can be read by others, so its token is not secret. Remove the file and restart the server");
  text.resize(static_cast<std::size_t>(bytes));
  ServerAddress address;
  const bool whole = FlatObject(text).each([&](const std::string& key, const std::string& value) {
    if (key == "world") address.world = value;
    if (key == "address") address.address = value;
    if (key == "unix") address.unix_path = value;
    if (key == "token") address.token = value;
    if (key == "tls") address.fingerprint = value;
    if (key == "pid") address.pid = std::strtoll(value.c_str(), nullptr, 10);
  });
  if (!whole || address.token.empty() || address.pid <= 0) return mistaken(path + " is not a server's address file");
  if (::kill(static_cast<pid_t>(address.pid), 0) != 0 && errno == ESRCH)
    return std::unexpected(ClientError{
        ClientError::Kind::lost,
        "no server is running for " + world_path + " (process " + std::to_string(address.pid) + " has ended)",
        {}});
  if (lacks_lock(world_path, address.pid))
    return std::unexpected(ClientError{ClientError::Kind::lost,
                                       "no server is running for " + world_path + ": process " +
                                           std::to_string(address.pid) + ", which " + path +
                                           " names, does not have it open",
                                       {}});
  return address;
}

}  // namespace muster
