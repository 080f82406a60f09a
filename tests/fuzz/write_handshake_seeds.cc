// write_handshake_seeds FOLDER: beginnings of connections for fuzz_handshake to start from.
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"
#include "system/tls.h"
#include "tests/fuzz/seed_frames.h"

namespace {

using namespace muster;
using namespace muster::testing;

/// The first bytes of a client that uses TLS.
std::string client_hello() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0) return {};
  const auto channel = TlsChannel::connect({.host = "localhost", .fingerprint = std::string(64, '0')}, sockets[0]);
  if (channel) (*channel)->shake_hands();
  char room[4096];
  const ssize_t got = ::recv(sockets[1], room, sizeof room, 0);
  ::close(sockets[0]);
  ::close(sockets[1]);
  return {room, static_cast<std::size_t>(got < 0 ? 0 : got)};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "fuzz_handshake";
  std::filesystem::create_directories(folder);
  int number = 0;
  const auto write = [&](char kind, const std::string& rest) {
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << kind << rest;
  };
  session::Hello made;
  made.protocol = made.protocol_oldest = session::protocol_newest;
  made.token = "the token of this door";
  const std::string hello = frame_of(made, 1), tls = client_hello();
  write(0, tls);
  write(0, tls + tls);
  write(0, tls.substr(0, tls.size() / 2));
  write(0, hello);
  write(0, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string record = static_cast<char>(hello.size()) + hello;
  write(1, record + static_cast<char>(16) + frame_of(session::GetInfo{}, 2).substr(0, 16));
  write(1, record + "\x85\x17\x03\x03" + std::string("\x00\x20", 2) + record);
  const std::string good_hello = std::string(1, '\0') + std::string(16, '\0') + std::string(32, 'n');
  const std::string good_proof = "\x01" + std::string(32, '\0');
  write(2, good_hello + good_proof);
  write(2, good_hello + "\x01" + std::string(32, '\x01') + good_proof);
  write(2, good_hello + "\x02");
  write(2, good_hello + "\x03\x20" + std::string(32, 'p'));
  write(2, good_proof + good_hello + good_hello);
  write(2, std::string(1, '\0') + std::string(16, '\x01') + std::string(32, 'n') + good_proof);
  write(2, "\x04" + record);
}
