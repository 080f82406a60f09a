// Parses HTTP/1.1 requests and writes the heads of answers. Does not perform I/O. Requests may
// arrive in pieces of any size.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/web/http_answer.h"
#include "server/web/http_request.h"

namespace muster {

/// The reason why bytes are not a valid request, as a status and a human-readable message.
struct HttpFault {
  unsigned status = 400;
  std::string text;
};

/// Splits a byte stream into the heads of requests. Does not parse bodies. After answering a
/// request that has a body, the caller must end the connection. Uses slightly more memory than one
/// head needs. Must be used by only one thread at a time.
class HttpReader {
 public:
  explicit HttpReader(std::size_t head_bytes_max);
  ~HttpReader();

  /// Returns memory for received bytes. After next() has returned nothing, this memory is never
  /// empty.
  std::span<std::byte> room();
  /// Must be called after filling the first `bytes` bytes of room().
  void received(std::size_t bytes) noexcept;
  /// Returns the next complete request, or nothing if more bytes are needed. After a fault, every
  /// further call returns the same fault.
  [[nodiscard]] std::expected<std::optional<HttpRequest>, HttpFault> next();
  /// Returns bytes that follow the request that next() has returned, at most `bytes_max`. They may
  /// be the beginning of its body, and the rest of it comes from the stream.
  std::vector<std::byte> take(std::size_t bytes_max);
  /// Returns true if bytes have arrived that no returned request contains.
  bool has_more() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes the status line and header fields of an answer, including the empty line that ends them.
/// `now` is the date of the answer, in seconds since 1970.
std::string http_head(const HttpAnswer& answer, bool keeps_alive, std::int64_t now);

}  // namespace muster
