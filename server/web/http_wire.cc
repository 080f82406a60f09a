#include "server/web/http_wire.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sstream>

namespace muster {
namespace {

namespace http = boost::beast::http;
using error_code = boost::system::error_code;
using Parser = http::request_parser<http::empty_body>;

std::string text_of(const auto& view) { return std::string(view.data(), view.size()); }

/// Splits a request target in absolute form, "http://HOST/PATH". The target's host replaces the
/// Host field (RFC 9112, 3.2.2). A request that does not have exactly one Host field is left
/// unchanged, because it will be refused.
void split_address(HttpRequest& request) {
  constexpr std::string_view scheme = "http://";
  const bool is_whole = request.target.size() >= scheme.size() &&
                        boost::beast::iequals(std::string_view(request.target).substr(0, scheme.size()), scheme);
  if (!is_whole || request.hosts.size() != 1) return;
  const std::string rest = request.target.substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  request.hosts.front() = rest.substr(0, end);
  request.target = rest.substr(end);
  if (!request.target.starts_with('/')) request.target.insert(0, "/");
}

HttpRequest request_of(const Parser& parser) {
  const auto& head = parser.get();
  HttpRequest request;
  request.method = text_of(head.method_string());
  request.target = text_of(head.target());
  const auto all = [&](http::field name) {
    std::vector<std::string> values;
    const auto [begin, end] = head.equal_range(name);
    for (auto at = begin; at != end; ++at) values.push_back(text_of(at->value()));
    return values;
  };
  const auto one = [&](http::field name) { return text_of(head[name]); };
  request.hosts = all(http::field::host);
  request.origins = all(http::field::origin);
  request.authorization = one(http::field::authorization);
  request.accept_encoding = one(http::field::accept_encoding);
  request.if_none_match = one(http::field::if_none_match);
  const auto joined = [&](std::string_view name) {
    std::string list;
    for (const auto& field : head)
      if (boost::beast::iequals(field.name_string(), name)) list += (list.empty() ? "" : ",") + text_of(field.value());
    return list;
  };
  request.forwarded_for = joined("X-Forwarded-For");
  request.forwarded_proto = joined("X-Forwarded-Proto");
  request.forwarded_host = joined("X-Forwarded-Host");
  request.web_key = one(http::field::sec_websocket_key);
  request.web_version = one(http::field::sec_websocket_version);
  request.upgrades = boost::beast::websocket::is_upgrade(head);
  const auto length = parser.content_length();
  request.has_body = parser.chunked() || (length && *length > 0);
  if (parser.chunked()) request.body_bytes.reset();
  if (length) request.body_bytes = *length;
  request.keeps_alive = parser.keep_alive();
  split_address(request);
  return request;
}

HttpFault fault_for(error_code error) {
  if (error == http::error::header_limit) return {431, "the request's header section is too long"};
  if (error == http::error::bad_version) return {505, "only HTTP/1.1 is supported"};
  return {400, "this is not an HTTP request: " + error.message()};
}

}  // namespace

struct HttpReader::Impl {
  explicit Impl(std::size_t head_bytes_max) : limit(head_bytes_max), buffer(head_bytes_max + 4096) {}
  const std::size_t limit;
  std::vector<std::byte> buffer;
  std::size_t begin = 0, end = 0;  // range of bytes that no returned request contains
  std::optional<Parser> parser;    // set while a request is partly parsed
  std::optional<HttpFault> fault;
};

HttpReader::HttpReader(std::size_t head_bytes_max) : impl_(std::make_unique<Impl>(head_bytes_max)) {}
HttpReader::~HttpReader() = default;

std::span<std::byte> HttpReader::room() {
  Impl& impl = *impl_;
  if (impl.begin > 0) {
    std::memmove(impl.buffer.data(), impl.buffer.data() + impl.begin, impl.end - impl.begin);
    impl.end -= impl.begin;
    impl.begin = 0;
  }
  return std::span(impl.buffer).subspan(impl.end);
}

void HttpReader::received(std::size_t bytes) noexcept { impl_->end += bytes; }

std::vector<std::byte> HttpReader::take(std::size_t bytes_max) {
  const std::size_t bytes = std::min(bytes_max, impl_->end - impl_->begin);
  const std::byte* const first = impl_->buffer.data() + impl_->begin;
  impl_->begin += bytes;
  return {first, first + bytes};
}

bool HttpReader::has_more() const noexcept { return impl_->end > impl_->begin || impl_->parser; }

std::expected<std::optional<HttpRequest>, HttpFault> HttpReader::next() {
  Impl& impl = *impl_;
  if (impl.fault) return std::unexpected(*impl.fault);
  if (impl.begin == impl.end) return std::nullopt;
  if (!impl.parser) {
    impl.parser.emplace();
    impl.parser->header_limit(static_cast<std::uint32_t>(impl.limit));
    impl.parser->eager(false);
    impl.parser->body_limit(boost::none);  // whoever takes a body judges its length
  }
  error_code error;
  impl.begin += impl.parser->put(boost::asio::buffer(impl.buffer.data() + impl.begin, impl.end - impl.begin), error);
  if (error == http::error::need_more) return std::nullopt;
  if (error) {
    impl.fault = fault_for(error);
    return std::unexpected(*impl.fault);
  }
  HttpRequest request = request_of(*impl.parser);
  impl.parser.reset();
  return request;
}

std::string http_head(const HttpAnswer& answer, bool keeps_alive, std::int64_t now) {
  http::response_header<> head;
  head.version(11);
  head.result(answer.status);
  std::tm parts{};
  const auto seconds = static_cast<std::time_t>(now);
  ::gmtime_r(&seconds, &parts);
  // strftime would use the names of the locale, which a plugin may have set.
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char date[64];
  std::snprintf(date, sizeof date, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7], parts.tm_mday,
                months[parts.tm_mon % 12], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  head.set(http::field::date, date);
  for (const auto& [name, value] : answer.fields) head.set(name, value);
  if (answer.status != 304) head.set(http::field::content_length, std::to_string(answer.body_bytes()));
  head.set(http::field::connection, keeps_alive ? "keep-alive" : "close");
  std::ostringstream text;
  text << head;
  return text.str();
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

HttpAnswer http_sentence(unsigned status, std::string text) {
  HttpAnswer answer;
  answer.status = status;
  answer.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
  answer.text = std::move(text) + "\n";
  return answer;
}

}  // namespace muster
