#include "server/access/resume_key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "system/open_file.h"
#include "system/random_id.h"

namespace muster {

ResumeKey::ResumeKey() {
  for (std::size_t i = 0; i < key_.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t drawn = random_id();
    std::memcpy(key_.data() + i, &drawn, sizeof drawn);
  }
}

ResumeKey::ResumeKey(const std::string& path, std::string world) : ResumeKey() {
  world_ = std::move(world);
  if (path.empty() || read(path)) return;
  if (errno == ENOENT && write(path)) return;
  error_ = "sessions cannot be resumed after the server was started again, because the key in " + path +
           " cannot be used: " + (errno == 0 ? "it is not 32 bytes long" : std::strerror(errno));
}

bool ResumeKey::read(const std::string& path) {
  errno = 0;
  const int file = open_file(path.c_str(), O_RDONLY);
  if (file < 0) return false;
  std::array<std::uint8_t, bytes + 1> found{};
  std::size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < found.size();) {
    got = ::read(file, found.data() + size, found.size() - size);
    if (got < 0 && errno != EINTR) break;
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  const int error = errno;
  ::close(file);
  errno = error;
  if (size != bytes) return false;
  std::memcpy(key_.data(), found.data(), bytes);
  return true;
}

bool ResumeKey::write(const std::string& path) const {
  // A key that was written only in part has another length, and is never used.
  const int file = open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < key_.size()) {
    const ssize_t wrote = ::write(file, key_.data() + done, key_.size() - done);
    if (wrote < 0 && errno != EINTR) break;
    done += wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
  }
  const bool good = done == key_.size() && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!good) ::unlink(path.c_str());
  errno = error;
  return good;
}

ResumeKey::Proof ResumeKey::proof(std::uint64_t session, std::uint64_t user) const {
  const std::string of = "muster resume 1 " + std::to_string(session) + ' ' + std::to_string(user) + ' ' + world_;
  Proof made{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(of.data()),
       of.size(), made.data(), &length);
  return made;
}

bool ResumeKey::accepts(std::span<const std::uint8_t> shown, std::uint64_t session, std::uint64_t user) const {
  const Proof right = proof(session, user);
  return shown.size() == right.size() && CRYPTO_memcmp(shown.data(), right.data(), right.size()) == 0;
}

}  // namespace muster
