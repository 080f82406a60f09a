// HTTP/1.1 as bytes: requests are read, the heads of answers written. No I/O. How the bytes are cut
// into pieces changes nothing.
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

/// Why what came is no request: the status that says so, and a sentence.
struct HttpFault {
  unsigned status = 400;
  std::string text;
};

/// Cuts a byte stream into the heads of requests. Does not read bodies: the caller ends the
/// connection after answering a request with a body. Memory: a head and a little more. One thread
/// at a time.
class HttpReader {
 public:
  explicit HttpReader(std::size_t head_bytes_max);
  ~HttpReader();

  /// Where to put received bytes; not empty once next() found nothing.
  std::span<std::byte> room();
  /// The first `bytes` of room() are filled.
  void received(std::size_t bytes) noexcept;
  /// The next whole request; nothing where more bytes are needed. After a fault every call gives
  /// that fault again.
  [[nodiscard]] std::expected<std::optional<HttpRequest>, HttpFault> next();
  /// Whether bytes came that belong to no request handed out.
  bool has_more() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Status line and fields of an answer, with the empty line. `now`: seconds since 1970, for its
/// date.
std::string http_head(const HttpAnswer& answer, bool keeps_alive, std::int64_t now);

}  // namespace muster
