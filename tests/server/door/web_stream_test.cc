// A WebSocket on a stream that is not a socket: Disguised changes every byte, as encryption does.
#include "server/door/web_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/door/socket_stream.h"

using namespace muster;

namespace {

constexpr char key = 0x5a;

class Disguised final : public WireStream {
 public:
  Disguised(std::unique_ptr<WireStream> below, bool& destroyed) : below_(std::move(below)), destroyed_(destroyed) {}
  ~Disguised() override { destroyed_ = true; }
  void read_some(std::span<std::byte> room, ReadDone done) override {
    below_->read_some(room, [room, done = std::move(done)](StreamRead got) mutable {
      for (std::byte& byte : room.first(got.bytes)) byte ^= std::byte{key};
      done(got);
    });
  }
  void write(std::span<const std::span<const std::byte>> parts, WriteDone done) override {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for (const auto part : parts) bytes->insert(bytes->end(), part.begin(), part.end());
    for (std::byte& byte : *bytes) byte ^= std::byte{key};
    const std::span<const std::byte> all(*bytes);
    below_->write({&all, 1}, [bytes, done = std::move(done)](bool sent) mutable { done(sent); });
  }
  void end(Farewell why) override { below_->end(why); }
  void close() override { below_->close(); }
  std::size_t unsent() override { return 77; }
  bool is_open() const override { return below_->is_open(); }

 private:
  const std::unique_ptr<WireStream> below_;
  bool& destroyed_;
};

/// The other end, which blocks.
class Other {
 public:
  explicit Other(int descriptor) : descriptor_(descriptor) {}
  ~Other() { ::close(descriptor_); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Returns fewer bytes if the stream ends.
  std::string read(std::size_t bytes) {
    std::string got(bytes, '\0');
    std::size_t have = 0;
    for (ssize_t n; have < bytes && (n = ::read(descriptor_, got.data() + have, bytes - have)) > 0;)
      have += static_cast<std::size_t>(n);
    got.resize(have);
    for (char& c : got) c = static_cast<char>(c ^ key);
    return got;
  }
  std::string read_head() {
    std::string head;
    for (std::string next; !head.ends_with("\r\n\r\n") && !(next = read(1)).empty();) head += next;
    return head;
  }
  /// A client masks its frames; a mask of zeros changes nothing.
  void write_frame(std::uint8_t opcode, std::string_view payload) {
    std::string frame = {static_cast<char>(0x80 | opcode), static_cast<char>(0x80 | payload.size()), 0, 0, 0, 0};
    frame += payload;
    for (char& c : frame) c = static_cast<char>(c ^ key);
    (void)!::write(descriptor_, frame.data(), frame.size());
  }

 private:
  const int descriptor_;
};

WebHandshake handshake() {
  WebHandshake asked;
  asked.host = "localhost";
  asked.key = "dGhlIHNhbXBsZSBub25jZQ==";
  asked.version = "13";
  asked.message_bytes_max = 1 << 20;
  return asked;
}

struct Carried {
  Carried() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    other.emplace(ends[1]);
    stream = open_web_stream(
        io, std::make_unique<Disguised>(open_socket_stream(io, ends[0], SocketKind::local), destroyed), handshake());
  }
  boost::asio::io_context io;
  bool destroyed = false;
  std::optional<Other> other;
  std::unique_ptr<WireStream> stream;
};

}  // namespace

TEST_CASE("a WebSocket is carried by any stream, until both sides have ended", "[door]") {
  Carried one;
  std::string came, head, answer, farewell, after;
  StreamRead::End end = StreamRead::End::none;
  std::array<std::byte, 100> room{};
  const std::string_view well = "well";
  const std::span<const std::byte> part = std::as_bytes(std::span(well));
  bool sent = false;
  std::function<void()> read_on = [&] {
    one.stream->read_some(room, [&](StreamRead got) {
      end = got.end;
      if (got.end != StreamRead::End::none) return one.stream->close();
      came.append(reinterpret_cast<const char*>(room.data()), got.bytes);
      if (came == "how is it") one.stream->write({&part, 1}, [&](bool is_sent) { sent = is_sent; });
      read_on();
    });
  };
  read_on();
  CHECK(one.stream->unsent() == 77);
  std::thread client([&] {
    head = one.other->read_head();
    one.other->write_frame(2, "how");
    one.other->write_frame(2, " is it");
    answer = one.other->read(6);
    one.other->write_frame(8, "\x03\xe8");
    farewell = one.other->read(4);
    after = one.other->read(1);
    one.other.reset();
  });
  one.io.run();
  client.join();
  CHECK(head.starts_with("HTTP/1.1 101"));
  CHECK(came == "how is it");
  CHECK(sent);
  CHECK(answer == std::string("\x82\x04") + "well");
  CHECK(farewell == "\x88\x02\x03\xe8");
  CHECK(after.empty());
  CHECK(end == StreamRead::End::ended);
}

TEST_CASE("a WebSocket that is destroyed destroys the stream that carries it, and its reads end", "[door]") {
  Carried one;
  std::string head;
  std::thread client([&] { head = one.other->read_head(); });
  std::array<std::byte, 100> room{};
  bool read_ended = false;
  one.stream->read_some(room, [&](StreamRead got) { read_ended = got.end == StreamRead::End::broken; });
  while (one.io.run_one_for(std::chrono::milliseconds(100)) > 0) {
  }
  client.join();
  CHECK(head.starts_with("HTTP/1.1 101"));
  one.stream->close();
  one.io.run();
  CHECK(read_ended);
  one.stream.reset();
  CHECK(one.destroyed);
}

TEST_CASE("a WebSocket that was taken leave of reads what still comes, and closes when the other side has", "[door]") {
  Carried one;
  std::string head, farewell;
  std::thread client([&] {
    head = one.other->read_head();
    farewell = one.other->read(4);
    one.other->write_frame(2, "too late");
    one.other->write_frame(8, "\x03\xe9");
    for (int i = 0; i < 3; ++i) one.other->write_frame(2, "behind it");
    one.other.reset();
  });
  std::array<std::byte, 100> room{};
  StreamRead::End end = StreamRead::End::none;
  std::function<void()> read_on = [&] {
    one.stream->read_some(room, [&](StreamRead got) {
      end = got.end;
      if (end == StreamRead::End::none) read_on();
    });
  };
  read_on();
  while (one.io.run_one_for(std::chrono::milliseconds(100)) > 0) {
  }
  one.stream->end(Farewell::stopping);
  CHECK_FALSE(one.stream->is_open());
  one.io.run();
  client.join();
  CHECK(head.starts_with("HTTP/1.1 101"));
  CHECK(farewell == "\x88\x02\x03\xe9");
  CHECK(end != StreamRead::End::none);
}
