// TLS 1.3 on a connected socket, for servers and clients. Only system/tls.cc uses OpenSSL for it. A
// program that was built without TLS has the same functions, which fail and say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns false if this program was built without TLS.
bool is_built_with_tls() noexcept;

/// A server's private key and its certificate. Immutable, and may be used by several threads.
class TlsIdentity {
 public:
  virtual ~TlsIdentity() = default;
  /// Reads files in PEM format: the certificate, followed by those of its issuers, and the key. On
  /// failure, the error is a sentence that names the file.
  [[nodiscard]] static std::expected<std::shared_ptr<const TlsIdentity>, std::string> read(
      const std::string& certificate_file, const std::string& key_file);

  /// Returns the SHA-256 hash of the certificate as 64 lower-case hexadecimal digits.
  virtual const std::string& fingerprint() const noexcept = 0;
  /// Returns the DNS names of the certificate. A name may begin with "*.".
  virtual const std::vector<std::string>& names() const noexcept = 0;
  /// Returns true if the certificate is valid for the DNS name or IP address.
  virtual bool is_for(const std::string& host) const = 0;
  /// Returns the time at which the certificate expires, in seconds since 1970.
  virtual std::int64_t expires_s() const noexcept = 0;
};

/// Creates a file with a new key and a certificate that is signed by that key, for the given DNS
/// names and IP addresses. Only the owner can read the file. If there is such a regular file,
/// does nothing. On failure, the error is a sentence.
[[nodiscard]] std::expected<void, std::string> make_self_signed(const std::string& path,
                                                                const std::vector<std::string>& hosts);

/// Tells a client which servers to trust.
struct TlsTrust {
  /// The server's name or IP address, which its certificate must contain.
  std::string host = {};
  /// If not empty, the server is trusted if its certificate has this fingerprint, whatever name and
  /// issuer the certificate contains, and regardless of the time.
  std::string fingerprint = {};
  /// File with the certificates of trusted issuers, in PEM format. If empty, the issuers that the
  /// system trusts. If the file also contains lists of revoked certificates (CRLs), the server's
  /// certificate must not be in them, and its issuer must have a list that is up to date.
  std::string ca_file = {};
};

/// Returns 64 lower-case hexadecimal digits. Colons and spaces between the digits of `text` are
/// ignored. Returns an empty string if `text` is not a fingerprint.
inline std::string fingerprint_of(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == ':' || c == ' ') continue;
    const char small = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!((small >= '0' && small <= '9') || (small >= 'a' && small <= 'f'))) return {};
    digits += small;
  }
  return digits.size() == 64 ? digits : std::string();
}

/// The encrypted side of a connection. The socket must be non-blocking, and must stay open as long
/// as this object exists. The first read or write performs the handshake. Not thread-safe.
class TlsChannel {
 public:
  virtual ~TlsChannel() = default;
  [[nodiscard]] static std::expected<std::unique_ptr<TlsChannel>, std::string> accept(
      std::shared_ptr<const TlsIdentity> identity, int descriptor);
  /// On failure, the error is a sentence, for example about a file that cannot be read.
  [[nodiscard]] static std::expected<std::unique_ptr<TlsChannel>, std::string> connect(const TlsTrust& trust,
                                                                                       int descriptor);

  enum class State : std::uint8_t {
    done,        ///< at least one byte was read, or all bytes were written
    wants_read,  ///< call again with the same bytes when the socket can be read
    wants_write,
    ended,   ///< the peer has finished sending; only a read returns this
    broken,  ///< the connection is unusable, for the reason that why() gives
  };
  struct Result {
    State state = State::broken;
    std::size_t bytes = 0;  ///< if `done`, number of bytes read
  };
  /// Performs the handshake. Does nothing if it is complete.
  virtual Result shake_hands() = 0;
  virtual bool has_shaken_hands() const noexcept = 0;
  virtual Result read(std::span<std::byte> room) = 0;
  /// Writes all bytes: at least one, and at most `record_bytes_max`.
  virtual Result write(std::span<const std::byte> bytes) = 0;
  /// Tells the peer that nothing more is sent, if that is possible without waiting.
  virtual void end() = 0;
  /// The reason why the connection is broken, as part of a sentence.
  virtual const std::string& why() const noexcept = 0;

  static constexpr std::size_t record_bytes_max = 16384;
};

}  // namespace muster
