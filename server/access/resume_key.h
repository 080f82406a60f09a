// The key with which a server makes proofs of sessions. A client shows the proof of its session to
// resume the session on another connection. A proof is an HMAC-SHA256 of the session and its user,
// so the server does not need to store proofs, and they stay valid after the server has been killed
// and started again.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace muster {

/// May be used by several threads at a time.
class ResumeKey {
 public:
  static constexpr std::size_t bytes = 32;
  using Proof = std::array<std::uint8_t, bytes>;

  /// Draws a key that lasts as long as this object.
  ResumeKey();
  /// Reads the key in the file at `path`. If there is no such file, draws a key and writes it to a
  /// file that only its owner can read. If `path` is empty, or if the file cannot be used, the key
  /// lasts as long as this object, and error() returns the reason. The proofs are valid only for
  /// the world with the id `world`.
  ResumeKey(const std::string& path, std::string world);

  /// Returns a sentence, or an empty string if there was no error.
  const std::string& error() const noexcept { return error_; }
  Proof proof(std::uint64_t session, std::uint64_t user) const;
  /// Returns true if `shown` is the proof of this session. Takes equally long for all proofs of the
  /// same length.
  bool accepts(std::span<const std::uint8_t> shown, std::uint64_t session, std::uint64_t user) const;

 private:
  bool read(const std::string& path);
  bool write(const std::string& path) const;

  std::array<std::uint8_t, bytes> key_{};
  std::string world_, error_;
};

}  // namespace muster
