#include "tests/server/door/web_client.h"

#include <stdexcept>

namespace muster::testing {
namespace {

Deadline in_5_s() { return std::chrono::steady_clock::now() + std::chrono::seconds(5); }

std::string small(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string head_of(int opcode, std::uint64_t bytes, bool last, bool masked) {
  std::string head(1, static_cast<char>(opcode | (last ? 0x80 : 0)));
  const int mask = masked ? 0x80 : 0;
  if (bytes < 126) {
    head += static_cast<char>(mask | static_cast<int>(bytes));
  } else {
    const int size = bytes < 65536 ? 2 : 8;
    head += static_cast<char>(mask | (size == 2 ? 126 : 127));
    for (int i = size - 1; i >= 0; --i) head += static_cast<char>(bytes >> (8 * i));
  }
  return head;
}

}  // namespace

HttpClient::HttpClient(std::string address)
    : address_(std::move(address)), stream_(ByteStream::connect(address_, in_5_s()).value()) {}

std::string HttpClient::request(const std::string& path, const std::vector<std::string>& lines,
                                const std::string& method) const {
  std::string made = method + " " + path + " HTTP/1.1\r\nHost: " + address_ + "\r\n";
  for (const std::string& line : lines) made += line + "\r\n";
  return made + "\r\n";
}

void HttpClient::send(std::string_view bytes) {
  auto left = std::as_bytes(std::span(bytes));
  while (!left.empty()) {
    const auto sent = stream_.send_some(left);
    if (!sent) return;  // the server has closed: what it said is read next
    left = left.subspan(*sent);
    if (*sent == 0 && stream_.wait(in_5_s(), true) == ByteStream::Ready::neither) return;
  }
}

bool HttpClient::read_some() {
  std::byte room[4096];
  if (stream_.wait(in_5_s(), false) == ByteStream::Ready::neither) return false;
  const auto got = stream_.receive_some(room);
  if (!got) return false;
  came_.append(reinterpret_cast<const char*>(room), *got);
  return true;
}

std::optional<HttpReply> HttpClient::receive(bool head_only) {
  std::size_t end = 0;
  while ((end = came_.find("\r\n\r\n")) == std::string::npos)
    if (!read_some()) return std::nullopt;
  HttpReply reply;
  std::string head = came_.substr(0, end + 2);
  came_.erase(0, end + 4);
  if (head.size() < 12) return std::nullopt;
  reply.status = std::stoi(head.substr(9, 3));
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t colon = head.find(':', at), line = head.find("\r\n", at);
    reply.fields[small(head.substr(at, colon - at))] = head.substr(colon + 2, line - colon - 2);
    at = line + 2;
  }
  const auto length = reply.fields.find("content-length");
  if (head_only || length == reply.fields.end()) return reply;
  const std::size_t bytes = std::stoul(length->second);
  while (came_.size() < bytes)
    if (!read_some()) return std::nullopt;
  reply.body = came_.substr(0, bytes);
  came_.erase(0, bytes);
  return reply;
}

HttpReply HttpClient::get(const std::string& path, const std::vector<std::string>& lines) {
  send(request(path, lines));
  auto reply = receive();
  if (!reply) throw std::runtime_error("no answer to GET " + path);
  return *reply;
}

bool HttpClient::closed() {
  if (!came_.empty()) return false;
  if (stream_.wait(in_5_s(), false) == ByteStream::Ready::neither) return false;
  std::byte room[1];
  return !stream_.receive_some(room).has_value();
}

std::vector<std::string> WebClient::upgrade_lines() {
  return {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="};
}

void WebClient::open() {
  send(request("/session", upgrade_lines()));
  const auto reply = receive();
  if (!reply || reply->status != 101) throw std::runtime_error("no WebSocket was opened");
}

void WebClient::send_frame(int opcode, std::string_view bytes, bool last, bool masked) {
  std::string frame = head_of(opcode, bytes.size(), last, masked);
  const char mask[4] = {0x12, 0x34, 0x56, 0x78};
  if (masked) frame.append(mask, 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) frame += masked ? static_cast<char>(bytes[i] ^ mask[i % 4]) : bytes[i];
  send(frame);
}

void WebClient::send_head(int opcode, std::uint64_t bytes) { send(head_of(opcode, bytes, true, true) + "1234"); }

std::optional<WebFrame> WebClient::receive_frame() {
  const auto need = [this](std::size_t bytes) {
    while (came_.size() < bytes)
      if (!read_some()) return false;
    return true;
  };
  const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(came_[at]); };
  if (!need(2)) return std::nullopt;
  WebFrame frame{byte(0) & 15, (byte(0) & 0x80) != 0, {}};
  std::uint64_t bytes = byte(1) & 0x7f;
  const std::size_t more_bytes = bytes == 126 ? 2 : bytes == 127 ? 8 : 0;
  if (!need(2 + more_bytes)) return std::nullopt;
  if (more_bytes > 0) bytes = 0;
  for (std::size_t i = 0; i < more_bytes; ++i) bytes = bytes << 8 | byte(2 + i);
  if (!need(2 + more_bytes + bytes)) return std::nullopt;
  frame.bytes = came_.substr(2 + more_bytes, bytes);
  came_.erase(0, 2 + more_bytes + bytes);
  return frame;
}

}  // namespace muster::testing
