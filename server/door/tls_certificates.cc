#include "server/door/tls_certificates.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <expected>
#include <utility>

#include "server/access/server_error.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto look_every = std::chrono::seconds(2);
constexpr std::int64_t warned_before_s = 7 * 86'400;
constexpr auto warn_every = std::chrono::hours(24);

/// Returns a text that differs if one of the files was written or replaced.
std::string stamp_of(const TlsFiles& files) {
  std::string stamp;
  for (const std::string& path : {files.certificate, files.key}) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) found = {};
    stamp += std::to_string(found.st_dev) + " " + std::to_string(found.st_ino) + " " + std::to_string(found.st_size) +
             " " + std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + " ";
  }
  return stamp;
}

std::string day_of_expiry(const TlsIdentity& identity) {
  const auto seconds = static_cast<std::time_t>(identity.expires_s());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

std::shared_ptr<const TlsIdentity> read_identity(const TlsFiles& files) {
  if (files.certificate.empty() && files.key.empty()) return nullptr;
  if (files.certificate.empty() || files.key.empty())
    throw ServerError("a certificate (--cert) and its key (--key) are needed together");
  auto read = TlsIdentity::read(files.certificate, files.key);
  if (!read) throw ServerError(read.error());
  return std::move(*read);
}

std::vector<std::string> hosts_of_self(const std::string& listen) {
  std::vector<std::string> hosts{"localhost", "127.0.0.1", "::1"};
  char name[256] = {};
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  if (::gethostname(name, sizeof name - 1) == 0) {
    const std::string own = name;
    if (!own.empty() && own != "localhost" && own.find_first_of("-.") != 0 && std::ranges::all_of(own, is_part))
      hosts.push_back(own);
  }
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  for (const char* known : {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
    if (host == known) return hosts;
  hosts.push_back(std::move(host));
  return hosts;
}

TlsCertificates::TlsCertificates(TlsFiles files, Loop& loop, std::function<void(const std::string&)> log,
                                 std::function<void(const std::string&)> warn)
    : files_(std::move(files)), loop_(loop), log_(std::move(log)), warn_(std::move(warn)) {
  stamp_ = stamp_of(files_);
  current_ = read_identity(files_);
  if (files_.asked) asked_ = files_.asked();
}

void TlsCertificates::warn_of_expiry(Clock::time_point now) {
  if (warned_ && now - *warned_ < warn_every) return;
  const std::int64_t left_s = current_->expires_s() - static_cast<std::int64_t>(std::time(nullptr));
  if (left_s > warned_before_s) return;
  warned_ = now;
  if (warn_)
    warn_("the certificate " + std::string(left_s < 0 ? "expired on " : "expires on ") + day_of_expiry(*current_));
}

void TlsCertificates::check(Clock::time_point now) {
  if (!current_ || looks_) return;
  warn_of_expiry(now);
  const bool asked = files_.asked && std::exchange(asked_, files_.asked()) != asked_;
  if (!asked && now - looked_ < look_every) return;
  looked_ = now;
  looks_ = true;
  struct FilesSeen {
    std::string stamp;
    std::expected<std::shared_ptr<const TlsIdentity>, std::string> read;
  };
  auto look = std::make_shared<FilesSeen>();
  loop_.run_beside(
      Loop::Beside::files,
      [look, certificate = files_.certificate, key = files_.key, before = stamp_, asked] {
        look->stamp = stamp_of({certificate, key});
        if (asked || look->stamp != before) look->read = TlsIdentity::read(certificate, key);
      },
      [this, look] {
        looks_ = false;
        stamp_ = look->stamp;
        if (!look->read && warn_) warn_("the certificate is not renewed, and the old one stays: " + look->read.error());
        if (!look->read || !*look->read || (*look->read)->fingerprint() == current_->fingerprint()) return;
        current_ = std::move(*look->read);
        warned_.reset();
        if (log_)
          log_("new certificate, valid until " + day_of_expiry(*current_) + ", fingerprint " + current_->fingerprint());
        if (files_.on_new) files_.on_new(*current_);
      });
}

}  // namespace muster
