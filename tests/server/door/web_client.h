// HTTP and WebSocket as bytes, for what a well-behaved browser does not say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cpp/byte_stream.h"

namespace muster::testing {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> fields;  ///< names in small letters
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(std::string address);
  /// "GET /path HTTP/1.1", the right Host, and further lines: "Origin: x".
  std::string request(const std::string& path, const std::vector<std::string>& lines = {},
                      const std::string& method = "GET") const;
  void send(std::string_view bytes);
  /// Nothing where the server closed the connection, or no whole answer came within 5 s. `head_only`: HEAD was asked.
  std::optional<HttpReply> receive(bool head_only = false);
  /// Both; throws where there is none.
  HttpReply get(const std::string& path, const std::vector<std::string>& lines = {});
  /// Whether the server closes within 5 s, having sent nothing more.
  bool closed();

 protected:
  /// False: nothing more comes, or nothing came for 5 s.
  bool read_some();
  std::string address_;
  ByteStream stream_;
  std::string came_;
};

/// One frame, or a message's part.
struct WebFrame {
  int opcode = 0;
  bool last = true;
  std::string bytes;
  /// Of a close frame.
  int code() const {
    return bytes.size() < 2 ? 0 : static_cast<unsigned char>(bytes[0]) << 8 | static_cast<unsigned char>(bytes[1]);
  }
};

class WebClient : public HttpClient {
 public:
  using HttpClient::HttpClient;
  static constexpr int more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10;
  /// The lines that ask for a WebSocket.
  static std::vector<std::string> upgrade_lines();
  /// Asks for a WebSocket; throws where it is refused.
  void open();
  void send_frame(int opcode, std::string_view bytes, bool last = true, bool masked = true);
  /// A frame's head that promises so many bytes.
  void send_head(int opcode, std::uint64_t bytes);
  /// Nothing where the server closed the connection, or nothing came for 5 s.
  std::optional<WebFrame> receive_frame();
};

}  // namespace muster::testing
