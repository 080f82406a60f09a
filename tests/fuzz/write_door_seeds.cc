// write_door_seeds FOLDER: what strangers say who mean well, for fuzz_door to start from.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "tests/fuzz/seed_frames.h"

namespace {

using namespace muster;
using namespace muster::testing;

std::string hello(const char* token) {
  session::Hello made;
  made.protocol = session::protocol_newest;
  made.protocol_oldest = session::protocol_oldest;
  made.token = token;
  made.name = "fuzz";
  return frame_of(made, 1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "fuzz_door";
  std::filesystem::create_directories(folder);
  int number = 0;
  const auto write = [&](int pieces, const std::string& stream) {
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << static_cast<char>(pieces) << stream;
  };
  const std::string host = "Host: localhost:7717\r\n";
  const std::string bearer = "Authorization: Bearer the token of this door\r\n";
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const std::string frames = hello("the token of this door") + frame_of(session::Heartbeat{}, 2) +
                             frame_of(session::GetSchema{}, 3) + frame_of(session::GetInfo{}, 4);
  for (const int pieces : {0, 6, 127}) {
    write(pieces, frames);
    write(pieces | 0x80, frames);
    write(pieces, hello("wrong"));
    write(pieces, "GET / HTTP/1.1\r\n" + host + "\r\nGET /health HTTP/1.1\r\n" + host + "\r\n");
    write(pieces, "HEAD /metrics HTTP/1.1\r\n" + host + "Origin: http://localhost:7717\r\n\r\n");
    write(pieces, "GET /world/a%20b.glb HTTP/1.1\r\n" + host + bearer + "\r\n");
    write(pieces, "GET /session HTTP/1.1\r\n" + host + upgrade + "\r\n");
    write(pieces, "POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello");
  }
}
