// The company in which one user abuses a server: the owner who asks meanwhile, further connections
// of the user, and a log that may not be read.
#pragma once

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "tests/abuse/abuse.h"
#include "tests/abuse/connection.h"

namespace muster::abuse {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

/// Returns the arguments with which muster-server serves the demo's world with these limits, and
/// with the owner's token in a file of the options' folder. `listen` is the TCP address, if any.
std::vector<std::string> server_arguments(const AbuseOptions& options, const std::string& listen);
/// Returns how the owner connects to a server that has those arguments.
ClientOptions as_owner(const std::string& address);

/// The times that the answers to one kind of question took.
struct Waits {
  std::vector<std::chrono::nanoseconds> each;
  std::chrono::nanoseconds longest() const;
  /// Returns the time within which this share of all was answered.
  std::chrono::nanoseconds within(double share) const;
};
using WaitsByQuestion = std::map<std::string, Waits>;

/// Asks again and again what an owner asks who wants to get rid of somebody.
class Owner {
 public:
  /// Connects, and creates the user whom it kicks.
  explicit Owner(const ClientOptions& options);
  void ask_all();
  Client& client() { return client_; }
  WaitsByQuestion& waits() { return waits_; }
  /// The world's, from the most recent answer.
  std::uint32_t entities() const { return entities_; }

 private:
  template <class Q>
  auto timed(const char* what, const Q& question) {
    const auto begin = std::chrono::steady_clock::now();
    auto answer = must(client_.ask(question));
    waits_[what].each.push_back(std::chrono::steady_clock::now() - begin);
    return answer;
  }

  Client client_;
  WaitsByQuestion waits_;
  std::uint32_t entities_ = 0;
  int guests_ = 0;
};

/// Further connections of the user. Each of them sends the beginning of a frame.
class Crowd {
 public:
  Crowd(std::string address, std::string token, std::size_t count)
      : address_(std::move(address)), token_(std::move(token)), count_(count) {}
  void go_on();

 private:
  struct One {
    One(const std::string& address, const std::string& token) : connection(address, token, "crowd") {}
    Connection connection;
    bool half = false;
  };
  const std::string address_, token_;
  const std::size_t count_;
  std::vector<std::unique_ptr<One>> connections_;
};

/// Sessions that end as soon as the server has welcomed them. The log has a line about the begin
/// and the end of each.
class Visitors {
 public:
  Visitors(std::string address, std::string token) : address_(std::move(address)), token_(std::move(token)) {}
  void go_on();

 private:
  const std::string address_, token_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

/// A FIFO as the log of a server. It is read only if read() is called.
class FifoLog {
 public:
  explicit FifoLog(const std::string& path);
  ~FifoLog();
  FifoLog(const FifoLog&) = delete;
  FifoLog& operator=(const FifoLog&) = delete;
  /// Writes until the FIFO is full.
  void fill();
  /// Returns what can be read at once.
  std::string read();

 private:
  int descriptor_ = -1;
};

}  // namespace muster::abuse
