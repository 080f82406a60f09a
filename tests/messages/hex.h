// Bytes as people write them, and memory aligned to 16 to judge them in.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// Hex digits in pairs; blanks are for the eye.
inline std::vector<std::byte> hex_bytes(std::string_view text) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  return bytes;
}

/// Words of 4 bytes, 16 bytes a line.
inline std::string hex_text(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0)
      text += '\n';
    else if (i % 4 == 0)
      text += ' ';
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

/// A type id as its four bytes in a batch.
inline std::string hex_id(std::uint32_t id) { return hex_text(std::as_bytes(std::span(&id, 1))).substr(1); }

/// A copy of exactly these bytes, aligned to 16: AddressSanitizer sees every read behind its end.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::span<const std::byte> bytes)
      : memory_(static_cast<std::byte*>(::operator new(bytes.size(), std::align_val_t{16}))), size_(bytes.size()) {
    if (size_ != 0) std::memcpy(memory_, bytes.data(), size_);
  }
  ~AlignedBytes() { ::operator delete(memory_, std::align_val_t{16}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::span<std::byte> span() noexcept { return {memory_, size_}; }
  std::span<const std::byte> span() const noexcept { return {memory_, size_}; }

 private:
  std::byte* memory_;
  std::size_t size_;
};

}  // namespace test
