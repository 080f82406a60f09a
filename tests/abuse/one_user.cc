#include "tests/abuse/one_user.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "client/cpp/client.h"
#include "server/session/server_limits.h"
#include "tests/abuse/abuser.h"
#include "tests/abuse/server_process.h"

namespace muster::abuse {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

const std::string owner_token = "the token of the owner in a test";

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

/// A log that is full and that is not read.
class StoppedLog {
 public:
  explicit StoppedLog(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no FIFO " + path);
    descriptor_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const char line[64] = {};
    while (::write(descriptor_, line, sizeof line) > 0) {
    }
  }
  ~StoppedLog() { ::close(descriptor_); }
  StoppedLog(const StoppedLog&) = delete;
  StoppedLog& operator=(const StoppedLog&) = delete;

 private:
  int descriptor_ = -1;
};

/// Further connections of the user. Each of them sends the beginning of a frame.
class Crowd {
 public:
  Crowd(const std::string& address, const std::string& token, std::size_t count)
      : address_(address), token_(token), count_(count) {}
  void go_on() {
    for (int i = 0; i < 20 && connections_.size() < count_; ++i)
      connections_.push_back(std::make_unique<One>(address_, token_));
    for (auto& each : connections_) {
      each->connection.send(1u << 16);
      if (each->connection.welcomed() && !each->half) {
        each->half = true;
        std::vector<std::byte> part(200'000);
        const FrameHeader header{.bytes = 8u << 20, .flags = 0, .request = 9};
        std::memcpy(part.data(), &header, sizeof header);
        each->connection.queue_bytes(part);
      }
      each->connection.receive(1u << 16, [](const WireFrame&) {});
    }
    std::erase_if(connections_, [](const auto& each) { return each->connection.lost(); });
  }

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

/// Asks again and again what an owner asks who wants to get rid of somebody.
class Owner {
  // Defined before it is used, for its type.
  template <class Q>
  auto timed(const char* what, const Q& question) {
    const auto begin = Clock::now();
    auto answer = must(client_.ask(question));
    auto& longest = report_.longest[what];
    longest = std::max<nanoseconds>(longest, Clock::now() - begin);
    ++report_.asked;
    return answer;
  }

 public:
  Owner(const ClientOptions& options, OneUserReport& report)
      : client_(must(Client::connect(options))), report_(report) {
    must(client_.ask(session::CreateToken{.name = "guest", .role = static_cast<std::uint8_t>(session::Role::view)}));
  }
  void ask_all() {
    report_.entities_after = timed("info", session::GetInfo{}).entities;
    timed("save", session::Save{});
    timed("kick", session::Kick{.name = "guest"});
    const std::string name = "guest " + std::to_string(++guests_);
    timed("create", session::CreateToken{.name = name, .role = static_cast<std::uint8_t>(session::Role::view)});
    timed("revoke", session::RevokeToken{.name = name});
  }
  Client& client() { return client_; }

 private:
  Client client_;
  OneUserReport& report_;
  int guests_ = 0;
};

}  // namespace

std::string OneUserReport::text() const {
  std::stringstream out;
  for (const session::Load* load : {&load_before, &load_after})
    out << (load == &load_before ? "before: " : "after: ") << load->entities << " entities, " << load->archetypes
        << " archetypes, " << load->texts << " texts, " << load->timers << " timers, " << load->templates
        << " templates\n";
  constexpr double mib = 1 << 20;
  const auto ms = [](nanoseconds time) { return static_cast<double>(time.count()) / 1e6; };
  out << "the owner asked " << asked << " times; longest answers:";
  for (const auto& [what, time] : longest) out << " " << what << " " << ms(time) << " ms";
  out << "\nfaults of the user:";
  for (const auto& [reason, count] : faults) out << " " << reason << " " << count;
  out << "\nrequests " << requests << ", sessions at most " << sessions_max << "\nremoved " << removed.entities
      << " entities with " << removed.others << " of others, " << removed.templates << " templates, " << removed.timers
      << " timers, " << removed.steps << " steps\nentities " << entities_before << " before, " << entities_after
      << " after; memory in MiB " << static_cast<double>(memory_before) / mib << " before, "
      << static_cast<double>(memory_max) / mib << " at most, " << static_cast<double>(memory_after) / mib << " after\n";
  return out.str();
}

OneUserReport one_user(const AbuseOptions& options, session::Role role) {
  OneUserReport report;
  const std::string token_file = options.folder + "/token", log = options.folder + "/log";
  std::ofstream(token_file) << owner_token << '\n';
  std::filesystem::permissions(token_file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ::setenv("SKIRMISH_ENTITIES", std::to_string(options.entities).c_str(), 1);
  std::vector<std::string> arguments = {"--plugin",     options.plugin, "--hz",      "60",
                                        "--token-file", token_file,     "--history", "4000000"};
  ServerLimits limits;
  for (const auto& [name, value] : options.limits) {
    if (!set_limit(limits, name, value)) throw std::runtime_error("no limit is called " + name);
    arguments.push_back("--limit");
    arguments.push_back(name + "=" + std::to_string(value));
  }
  const StoppedLog stopped(log);
  ServerProcess server(options.server, options.folder + "/shared.muster", arguments, log);

  ClientOptions as_owner;
  as_owner.address = server.address();
  as_owner.token = owner_token;
  as_owner.time_max = std::chrono::seconds(60);
  Owner owner(as_owner, report);
  const auto mean =
      must(owner.client().ask(session::CreateToken{.name = "mean", .role = static_cast<std::uint8_t>(role)}));
  Random random(options.seed);
  Knowledge known;
  known.learn(owner.client().types(), random);
  known.learn_world(owner.client());
  AbuseReport abused;
  std::string wrong;
  const auto abuse_for = [&](nanoseconds time) {
    std::atomic<bool> over = false;
    std::thread asks([&] {
      try {
        while (!over) {
          owner.ask_all();
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
      } catch (const std::exception& error) {
        wrong = error.what();
      }
    });
    const Tokens tokens = {mean.token, mean.token, mean.token, mean.token};
    std::vector<std::unique_ptr<Abuser>> abusers;
    for (std::uint32_t i = 0; i < options.sessions; ++i)
      abusers.push_back(std::make_unique<Abuser>(random.next(), known, server.address(), tokens, abused));
    Crowd crowd(server.address(), mean.token, 2 * limits.user_sessions_max);
    for (const auto begin = Clock::now(); Clock::now() < begin + time && server.running();) {
      for (const auto& abuser : abusers) abuser->go_on(options.requests_per_look, false);
      crowd.go_on();
      report.memory_max = std::max(report.memory_max, server.memory_bytes());
      std::this_thread::sleep_for(options.rest);
    }
    report.sessions_max = must(must(Client::connect(as_owner)).ask(session::GetInfo{})).sessions;
    over = true;
    asks.join();
    if (!wrong.empty()) throw std::runtime_error("the owner is not answered: " + wrong);
    must(owner.client().ask(session::Kick{.name = "mean"}));
  };
  const auto clean_up = [&] {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (must(owner.client().ask(session::GetInfo{})).sessions > 1 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    must(owner.client().ask(session::SetClock{.speed = 1, .paused = 0}));
    must(owner.client().ask(session::DropTexts{}));
    report.removed = must(owner.client().ask(session::RemoveOf{.user = mean.user}));
    for (int i = 0; i < 10; ++i) owner.ask_all();
    return server.memory_bytes();
  };
  // What a first visit allocates once is no part of what the user left.
  abuse_for(options.time / 4);
  report.memory_before = clean_up();
  report.load_before = must(owner.client().ask(session::GetLoad{}));
  report.entities_before = report.entities_after;
  report.longest.clear();
  abuse_for(options.time);
  must(owner.client().ask(session::RevokeToken{.name = "mean"}));
  report.memory_after = clean_up();
  report.load_after = must(owner.client().ask(session::GetLoad{}));
  for (const auto& [kind, count] : abused.drawn) report.requests += count;
  report.faults = abused.faults;
  report.edits_others = role != session::Role::view;
  report.exit_code = server.stop();
  return report;
}

}  // namespace muster::abuse
