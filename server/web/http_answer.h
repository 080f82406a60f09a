// Defines the answer to an HTTP request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// A file that is open for reading. Movable, but not copyable.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(int descriptor, std::uint64_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
  OpenFile(OpenFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, 0)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~OpenFile();
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  ///< size of the file when it was opened

 private:
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

struct HttpAnswer {
  unsigned status = 200;
  /// Header fields other than Content-Length, Date, and the fields about the connection.
  std::vector<std::pair<std::string, std::string>> fields;
  std::shared_ptr<const std::string> kept;  ///< the body, either shared,
  OpenFile file;                            ///< from a file,
  std::string text;                         ///< or as a string
  bool head_only = false;                   ///< true for a HEAD request, whose answer has no body
  bool closes = false;                      ///< true if the connection accepts no further requests

  std::uint64_t body_bytes() const noexcept {
    return kept ? kept->size() : file ? file.bytes() : static_cast<std::uint64_t>(text.size());
  }
};

/// Creates an answer that consists of a status and a human-readable message.
HttpAnswer http_sentence(unsigned status, std::string text);

}  // namespace muster
