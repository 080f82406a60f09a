// The key and certificate of a port that needs TLS. They are read again when their files change.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/door/loop.h"
#include "system/tls.h"

namespace muster {

struct TlsFiles {
  std::string certificate, key;  ///< paths of files in PEM format, or empty for no TLS
  /// Returns a number that changes when the files must be read again even if they look the same.
  /// Called on the listener's thread. May be null.
  std::function<std::uint64_t()> asked = {};
  /// Called on the listener's thread with a new identity. May be null.
  std::function<void(const TlsIdentity&)> on_new = {};
};

/// Reads the files of a certificate, or throws ServerError. Returns null without TLS.
std::shared_ptr<const TlsIdentity> read_identity(const TlsFiles& files);

/// Returns the hosts for which a self-signed certificate is made: this machine under its names, and
/// the address of `listen` if it is not that of all interfaces.
std::vector<std::string> hosts_of_self(const std::string& listen);

/// Must be used only on the listener's thread, after its construction. The loop and `log` must
/// outlive this object.
class TlsCertificates {
 public:
  /// Reads the files if there are any, or throws ServerError.
  TlsCertificates(TlsFiles files, Loop& loop, std::function<void(const std::string&)> log,
                  std::function<void(const std::string&)> warn);

  /// Returns the current identity, or null without TLS.
  const std::shared_ptr<const TlsIdentity>& current() const noexcept { return current_; }
  /// Must be called several times a second. Every two seconds, and if asked, looks on another
  /// thread whether the files have changed. If new files cannot be used, logs that once, and keeps
  /// the identity. Warns once a day of a certificate that expires within a week.
  void check(std::chrono::steady_clock::time_point now);

 private:
  void warn_of_expiry(std::chrono::steady_clock::time_point now);

  TlsFiles files_;
  Loop& loop_;
  const std::function<void(const std::string&)> log_, warn_;
  std::shared_ptr<const TlsIdentity> current_;
  std::string stamp_;  // of the files when they were read last
  std::uint64_t asked_ = 0;
  bool looks_ = false;
  std::chrono::steady_clock::time_point looked_ = {};
  std::optional<std::chrono::steady_clock::time_point> warned_;  // of the expiry of `current_`
};

}  // namespace muster
