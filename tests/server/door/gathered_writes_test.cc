// A write of many parts, on a socket and on a WebSocket: the other side reads them one behind the other.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/door/socket_stream.h"
#include "server/door/web_stream.h"

using namespace muster;

namespace {

struct SocketPair {
  SocketPair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0); }
  ~SocketPair() { ::close(ends[1]); }  // a stream has the other
  std::array<int, 2> ends{};
};

/// Parts of very different sizes, more than a system call takes, and what they are together.
struct Parts {
  Parts(std::size_t count, std::size_t largest) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::byte>& part = held.emplace_back(i % 7 == 0 ? largest : i % 5);
      for (std::byte& byte : part) all.push_back(static_cast<char>(byte = static_cast<std::byte>(all.size() * 31)));
    }
    spans.assign(held.begin(), held.end());
  }
  Parts(Parts&&) = default;  // spans go on to show what is held
  std::vector<std::vector<std::byte>> held;
  std::vector<std::span<const std::byte>> spans;
  std::string all;
};

/// What comes until the stream's end is closed.
std::string read_all(int descriptor) {
  std::string got;
  char some[4096];
  for (ssize_t n; (n = ::read(descriptor, some, sizeof some)) > 0;) got.append(some, static_cast<std::size_t>(n));
  return got;
}

std::string all_of(std::span<const Parts> writes) {
  std::string all;
  for (const Parts& parts : writes) all += parts.all;
  return all;
}

/// Writes one after another, each when the one before is done, and closes.
std::string written(boost::asio::io_context& io, WireStream& stream, int other, std::span<const Parts> writes) {
  std::string got;
  std::thread reads([&] { got = read_all(other); });
  std::size_t done = 0;
  std::function<void()> next = [&] {
    if (done == writes.size()) return stream.close();
    // Only their bytes need to live until they went.
    std::vector<std::span<const std::byte>> list = writes[done].spans;
    stream.write(list, [&](bool well) {
      CHECK(well);
      ++done;
      next();
    });
    std::ranges::fill(list, std::span<const std::byte>());
  };
  next();
  io.run();
  reads.join();
  CHECK(done == writes.size());
  return got;
}

/// The same, each at once as far as it goes. `at_once`: how many went so.
std::string written_at_once(boost::asio::io_context& io, WireStream& stream, int other, std::span<const Parts> writes,
                            std::size_t& at_once) {
  std::size_t done = 0;
  at_once = 0;
  std::function<void()> next = [&] {
    for (; done < writes.size(); ++done, ++at_once)
      if (!stream.write_at_once(writes[done].spans))
        return stream.write(writes[done].spans, [&](bool well) {
          CHECK(well);
          ++done;
          next();
        });
    stream.close();
  };
  next();
  std::string got;
  std::thread reads([&] { got = read_all(other); });  // not before the line is full
  io.run();
  reads.join();
  CHECK(done == writes.size());
  return got;
}

/// The payloads of a server's messages.
std::string unframed(std::string_view frames) {
  std::string all;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(frames[at + i]);
    return value;
  };
  while (!frames.empty()) {
    REQUIRE(frames.size() >= 2);
    std::size_t bytes = number(1, 1), head = 2;
    if (bytes == 126) bytes = number(2, 2), head = 4;
    if (bytes == 127) bytes = number(2, 8), head = 10;
    REQUIRE(frames.size() >= head + bytes);
    all += frames.substr(head, bytes);
    frames.remove_prefix(head + bytes);
  }
  return all;
}

}  // namespace

TEST_CASE("a socket sends all parts of a write one behind the other", "[door]") {
  boost::asio::io_context io;
  SocketPair pair;
  const auto stream = open_socket_stream(io, pair.ends[0], SocketKind::local);
  std::vector<Parts> writes;
  writes.emplace_back(3, 100);
  writes.emplace_back(1, 5);
  writes.emplace_back(300, 20'000);
  writes.emplace_back(2, 1);
  const std::string sent = all_of(writes);
  CHECK(written(io, *stream, pair.ends[1], writes) == sent);
}

TEST_CASE("a WebSocket sends all parts of a write, also of one that waits for the handshake", "[door]") {
  boost::asio::io_context io;
  SocketPair pair;
  WebHandshake asked;
  asked.host = "localhost";
  asked.key = "dGhlIHNhbXBsZSBub25jZQ==";
  asked.version = "13";
  asked.message_bytes_max = 1 << 20;
  const auto stream = open_web_stream(io, open_socket_stream(io, pair.ends[0], SocketKind::local), asked);
  std::vector<Parts> writes;
  writes.emplace_back(3, 100);
  writes.emplace_back(300, 20'000);
  writes.emplace_back(2, 1);
  const std::string sent = all_of(writes);
  const std::string got = written(io, *stream, pair.ends[1], writes);
  const std::size_t head = got.find("\r\n\r\n");
  REQUIRE(head != std::string::npos);
  CHECK(got.starts_with("HTTP/1.1 101"));
  CHECK(unframed(std::string_view(got).substr(head + 4)) == sent);
}

TEST_CASE("what does not go at once goes on where it stopped", "[door]") {
  boost::asio::io_context io;
  SocketPair pair;
  const auto stream = open_socket_stream(io, pair.ends[0], SocketKind::local);
  std::vector<Parts> writes;
  writes.emplace_back(3, 100);
  writes.emplace_back(1, 5);
  writes.emplace_back(700, 20'000);  // more than the kernel holds
  for (int i = 0; i < 50; ++i) writes.emplace_back(9, 7'001);
  writes.emplace_back(2, 1);
  const std::string sent = all_of(writes);
  std::size_t at_once = 0;
  CHECK(written_at_once(io, *stream, pair.ends[1], writes, at_once) == sent);
  CHECK(at_once >= 2);
  CHECK(at_once < writes.size());
}

TEST_CASE("a write at once to a connection that is closed is left to a write that fails", "[door]") {
  boost::asio::io_context io;
  SocketPair pair;
  const auto stream = open_socket_stream(io, pair.ends[0], SocketKind::local);
  ::close(std::exchange(pair.ends[1], -1));
  const Parts parts(1, 5);
  CHECK_FALSE(stream->write_at_once(parts.spans));
  bool well = true;
  stream->write(parts.spans, [&](bool went) { well = went; });
  io.run();
  CHECK_FALSE(well);
}

TEST_CASE("a write goes whole behind one that went at once, and behind one that went on where it stopped", "[door]") {
  boost::asio::io_context io;
  SocketPair pair;
  const auto stream = open_socket_stream(io, pair.ends[0], SocketKind::local);
  const Parts small(3, 100), large(700, 20'000);  // more than the kernel holds
  REQUIRE(stream->write_at_once(small.spans));
  bool begun = false;
  std::function<void()> last = [&] {
    stream->write(small.spans, [&](bool well) {
      CHECK(well);
      stream->close();
    });
  };
  stream->write(small.spans, [&](bool well) {
    CHECK(well);
    begun = true;
    CHECK_FALSE(stream->write_at_once(large.spans));
    stream->write(large.spans, [&](bool whole) {
      CHECK(whole);
      last();
    });
  });
  io.run_one();
  CHECK(begun);
  std::string got;
  std::thread reads([&] { got = read_all(pair.ends[1]); });  // not before the line is full
  io.run();
  reads.join();
  CHECK(got == small.all + small.all + large.all + small.all);
}
