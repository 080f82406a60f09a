// A registry with a desk and a listener, run on a thread of its own as a World would run it; and a client that speaks
// bytes, for what a well-behaved Client cannot say.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "client/cpp/byte_stream.h"
#include "client/cpp/client.h"
#include "messages/judge/verifier.h"
#include "registry/entity_registry.h"
#include "server/desk/desk.h"
#include "server/door/listener.h"
#include "tests/server/arena.h"

namespace muster::testing {

inline constexpr const char* token = "correct horse battery staple";
inline constexpr const char* viewer_token = "viewer token";
inline constexpr const char* editor_token = "editor token";

/// Speaks every version of the protocol that there is.
session::Hello hello_with(std::string with_token = token);

/// Writes a list of users with the rights view, edit and control. Returns their tokens, and `token`
/// with the right admin.
std::map<session::Role, std::string> tokens_by_role(const std::string& users_file);

/// The game: Damage takes from Health.
Subscription subscribe_damage(EntityRegistry& registry);

struct LiveWorldOptions {
  ServerLimits limits = {};
  bool tcp = true;
  std::string unix_path = {};
  std::function<std::uint64_t()> processor_ns = {};  ///< any thread; empty: what the world thread really used
  std::string page_folder = {}, files_folder = {};   ///< what is served over HTTP; empty: neither
  std::string users_file = {};                       ///< users with tokens of their own; empty: none
  std::function<void()> on_damage = {};              ///< world thread: each Damage that is handled
  std::function<void(const std::string&)> log = {};  ///< listener's thread: what it says about sessions
};

class LiveWorld {
 public:
  explicit LiveWorld(LiveWorldOptions options = {});
  ~LiveWorld();

  /// For ClientOptions: the Unix socket where there is no TCP.
  std::string address() const { return options_.tcp ? listener_->address() : "unix:" + options_.unix_path; }
  ClientOptions client_options(std::string with_token = token) const {
    ClientOptions made;
    made.address = address();
    made.token = std::move(with_token);
    made.name = "test";
    return made;
  }
  Client client(std::string with_token = token) const {
    auto made = Client::connect(client_options(std::move(with_token)));
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }
  /// Runs f(registry) on the world thread, between flushes, and waits for it.
  template <class F>
  auto run(F f) {
    std::packaged_task<std::invoke_result_t<F, EntityRegistry&>()> task([&] { return f(*registry_); });
    auto result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = [&task] { task(); };
    }
    wake();
    return result.get();
  }
  std::uint64_t hash() {
    return run([](EntityRegistry& registry) { return registry.hash(); });
  }
  /// While true the world thread does nothing, as in a long tick.
  void hold(bool held) {
    {
      const std::lock_guard lock(mutex_);
      held_ = held;
    }
    wake();
  }
  void fail_saves(bool fail) { fail_saves_ = fail; }
  /// Processor time of the world thread in its longest turn since the last call: what was taken, a flush, what was answered.
  std::chrono::nanoseconds longest_turn() { return std::chrono::nanoseconds(longest_turn_ns_.exchange(0)); }
  struct DeskCounters {
    std::uint64_t answered = 0, slices = 0, slice_steps_max = 0;
    std::uint64_t waiting = 0;  // questions
  };
  DeskCounters desk_counters();
  Listener& listener() { return *listener_; }
  /// Stops as a server does that ends: sessions are told.
  void stop_listening();

 private:
  void wake();
  void own();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false, stopping_ = false, held_ = false;
  std::function<void()> task_;
  std::atomic<bool> fail_saves_ = false;
  std::atomic<std::int64_t> longest_turn_ns_ = 0;
  LiveWorldOptions options_;
  std::unique_ptr<EntityRegistry> registry_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Listener> listener_;
  std::promise<void> ready_;
  std::thread owner_;
};

/// Sends bytes, receives frames.
class RawClient {
 public:
  explicit RawClient(const std::string& address);
  void send(std::span<const std::byte> bytes);
  /// Sends as much of it as the server takes within a second. 0: none, or it has closed.
  std::size_t send_what_goes(std::span<const std::byte> bytes);
  void send_frame(std::span<const std::byte> batch, std::uint64_t request = 1);
  template <GeneratedType M>
  void send_message(const M& message, std::uint64_t request = 1) {
    BatchBuilder builder;
    session::append(builder, message);
    send_frame(builder.bytes(), request);
  }
  void hello(std::string with_token = token);
  /// Tells the server that nothing more comes.
  void end() { ::shutdown(stream_.descriptor(), SHUT_WR); }
  /// The next frame; nothing where the server closed the connection or nothing came for 5 s.
  std::optional<Received> receive();
  /// The next frame must be a Fault.
  session::Fault receive_fault();
  bool closed();

 private:
  ByteStream stream_;
  FrameDecoder decoder_{256u << 20, true};
};

}  // namespace muster::testing
