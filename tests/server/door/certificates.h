// Creates keys and certificates for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace muster::testing {

/// An issuer of certificates, or a server with one. Copies share the key.
class Certified {
 public:
  struct Options {
    std::vector<std::string> names = {"localhost"};  ///< DNS names
    std::vector<std::string> addresses = {"127.0.0.1"};
    int from_days = -1, to_days = 30;   ///< when it is valid, counted from now
    const Certified* issuer = nullptr;  ///< null: signed by its own key
    bool is_issuer = false;
    bool has_rsa_key = false;
  };
  explicit Certified(const Options& options);

  /// In PEM format, followed by those of issuers that are not signed by their own key.
  std::string certificate() const;
  /// A list of revoked certificates, signed by this issuer, in PEM format.
  std::string revocation_of(const Certified& revoked) const;
  /// In PEM format; encrypted if there is a password.
  std::string key(const std::string& password = {}) const;
  /// SHA-256 of the certificate as 64 hexadecimal digits.
  std::string fingerprint() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::testing
