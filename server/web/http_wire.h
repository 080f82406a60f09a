// Parses HTTP/1.1 requests and writes the heads of answers. Does not perform I/O. Requests may
// arrive in pieces of any size.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/web/http_answer.h"
#include "server/web/http_request.h"

namespace muster {

/// The reason why bytes are not a valid request: a status and a sentence.
struct HttpFault {
  unsigned status = 400;
  std::string text;
};

/// Splits a byte stream into the heads of requests. Does not read bodies. After answering a request
/// that has a body, the caller must end the connection. Uses memory for one head and a little more.
/// Used by one thread at a time.
class HttpReader {
 public:
  explicit HttpReader(std::size_t head_bytes_max);
  ~HttpReader();

  /// Returns memory for received bytes. It is never empty after next() has returned nothing.
  std::span<std::byte> room();
  /// Must be called after filling the first `bytes` bytes of room().
  void received(std::size_t bytes) noexcept;
  /// Returns the next complete request, or nothing if more bytes are needed. After a fault, every
  /// call returns that fault.
  [[nodiscard]] std::expected<std::optional<HttpRequest>, HttpFault> next();
  /// Returns true if there are bytes that are not part of a request that has been returned.
  bool has_more() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes the status line and header fields of an answer, including the empty line that ends them.
/// `now` is the date of the answer, in seconds since 1970.
std::string http_head(const HttpAnswer& answer, bool keeps_alive, std::int64_t now);

}  // namespace muster
