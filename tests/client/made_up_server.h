// A server of no world: it welcomes who comes, keeps what it is asked, and says what a test wants it to say. So a client can be told
// what no good server says, and when.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "messages/frame.h"
#include "messages/require.h"
#include "messages/session.h"
#include "tests/support/folder.h"

namespace muster::testing {

/// One connection, on a thread of its own; what the script says goes out on that thread.
class MadeUpServer {
 public:
  struct Asked {
    std::uint64_t request = 0;
    std::vector<std::byte> bytes;
    BatchView batch() const noexcept { return BatchView(std::span<const std::byte>(bytes)); }
    template <class M>
    bool is() const noexcept {
      return batch().type() == TypeTraits<M>::id;
    }
    template <class M>
    M read() const {
      return session::read<M>(batch());
    }
  };
  /// Called with each frame behind the greeting.
  using Script = std::function<void(MadeUpServer&, const Asked&)>;

  /// What it says of its world's types; at first those of every world.
  std::vector<std::uint8_t> schema{TypeTraits<Create>::schema.begin(), TypeTraits<Create>::schema.end()};
  /// Said together with the greeting, if it is set before the client connects.
  std::optional<session::NewEpoch> with_welcome;

  explicit MadeUpServer(Script script, session::Welcome welcome = {.frame_bytes_max = 1u << 16})
      : script_(std::move(script)), welcome_(std::move(welcome)), path_(folder_ / "socket") {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::memcpy(where.sun_path, path_.c_str(), path_.size() + 1);
    require(
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 && ::listen(listener_, 1) == 0,
        "MadeUpServer: no socket");
    thread_ = std::thread([this] { serve(); });
  }
  ~MadeUpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    {
      const std::lock_guard lock(mutex_);
      if (connection_ >= 0) ::shutdown(connection_, SHUT_RDWR);
    }
    thread_.join();
    ::close(listener_);
  }
  MadeUpServer(const MadeUpServer&) = delete;
  MadeUpServer& operator=(const MadeUpServer&) = delete;

  ClientOptions options() const {
    ClientOptions made;
    made.address = "unix:" + path_;
    made.token = "a token";
    made.name = "somebody";
    made.kind = "test";
    return made;
  }
  /// All that was asked so far, greeting included.
  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  /// The last that was asked of this kind; there must be one.
  template <class M>
  M last() const {
    const std::vector<Asked> all = asked();
    for (std::size_t i = all.size(); i-- > 0;)
      if (all[i].is<M>()) return all[i].read<M>();
    require(false, "MadeUpServer: nobody asked that");
    return {};
  }
  template <class M>
  std::size_t count() const {
    std::size_t found = 0;
    for (const Asked& each : asked()) found += each.is<M>();
    return found;
  }

  // --- for the script

  template <class M>
  void say(std::uint64_t request, const M& message, std::uint32_t flags = 0) {
    BatchBuilder builder;
    session::append(builder, message);
    say_batch(request, builder.bytes(), flags);
  }
  void say_batch(std::uint64_t request, std::span<const std::byte> batch, std::uint32_t flags = 0) {
    std::vector<std::byte> frame;
    append_frame(frame, batch, request, flags);
    say_bytes(frame);
  }
  /// Answers, and says more in the same bytes.
  template <class M, class More>
  void say_with(std::uint64_t request, const M& message, const More& more) {
    BatchBuilder first, second;
    session::append(first, message);
    session::append(second, more);
    std::vector<std::byte> frames;
    append_frame(frames, first.bytes(), request);
    append_frame(frames, second.bytes(), 0);
    say_bytes(frames);
  }
  void say_bytes(std::span<const std::byte> bytes) {
    for (std::span<const std::byte> left(bytes); !left.empty();) {
      const ssize_t sent = ::send(connection_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      left = left.subspan(static_cast<std::size_t>(sent));
    }
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (connection_ >= 0) ::close(std::exchange(connection_, -1));
  }

 private:
  void serve() {
    const int made = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (made < 0) return;
    {
      const std::lock_guard lock(mutex_);
      connection_ = made;
    }
    FrameDecoder decoder(1u << 20);
    while (connection_ >= 0) {
      const std::span<std::byte> room = decoder.room();
      const ssize_t got = ::recv(connection_, room.data(), room.size(), 0);
      if (got <= 0) break;
      decoder.received(static_cast<std::size_t>(got));
      while (connection_ >= 0) {
        const auto frame = decoder.next();
        if (!frame || !*frame) break;
        Asked asked{(*frame)->header.request, {(*frame)->batch.begin(), (*frame)->batch.end()}};
        {
          const std::lock_guard lock(mutex_);
          asked_.push_back(asked);
        }
        if (asked.is<session::Hello>() && with_welcome)
          say_with(asked.request, welcome_, *with_welcome);
        else if (asked.is<session::Hello>())
          say(asked.request, welcome_);
        else if (asked.is<session::GetSchema>())
          say(asked.request, session::Schema{.count = 1, .bytes = schema});
        else
          script_(*this, asked);
      }
    }
    close();
  }

  Script script_;
  session::Welcome welcome_;
  test::Folder folder_;
  std::string path_;
  int listener_ = -1, connection_ = -1;
  mutable std::mutex mutex_;  // of what follows, and of connection_ where it comes and goes
  std::vector<Asked> asked_;
  std::thread thread_;
};

/// A client of it, whose calls take at most so long.
inline Client connect(const MadeUpServer& server, std::chrono::nanoseconds time_max = std::chrono::seconds(10)) {
  ClientOptions options = server.options();
  options.time_max = time_max;
  return Client::connect(options).value();
}

}  // namespace muster::testing
