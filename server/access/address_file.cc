#include "server/access/address_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "messages/json_writer.h"
#include "server/access/server_error.h"
#include "system/open_file.h"

namespace muster {

AddressFile::AddressFile(std::string path, const AddressEntry& entry) : path_(std::move(path)) { rewrite(entry); }

void AddressFile::rewrite(const AddressEntry& entry) {
  written_ = "{\n  \"world\": " + json_string(entry.world) + ",\n  \"address\": " + json_string(entry.address) +
             ",\n  \"unix\": " + json_string(entry.unix_path) +
             (entry.fingerprint.empty() ? "" : ",\n  \"tls\": " + json_string(entry.fingerprint)) +
             ",\n  \"token\": " + json_string(entry.token) + ",\n  \"pid\": " + std::to_string(::getpid()) +
             ",\n  \"server\": " + json_string(entry.server) + "\n}\n";
  const std::string beside = path_ + ".new";
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    ::unlink(beside.c_str());
    throw ServerError("cannot " + std::string(what) + " '" + path_ + "': " + why);
  };
  ::unlink(beside.c_str());
  const int file = open_file(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (file < 0) fail("write");
  const ssize_t wrote = ::write(file, written_.data(), written_.size());
  ::close(file);
  if (wrote != static_cast<ssize_t>(written_.size())) fail("write");
  if (::rename(beside.c_str(), path_.c_str()) != 0) fail("write");
}

AddressFile::~AddressFile() {
  std::ifstream file(path_, std::ios::binary);
  std::stringstream held;
  held << file.rdbuf();
  if (held.str() == written_) ::unlink(path_.c_str());
}

}  // namespace muster
