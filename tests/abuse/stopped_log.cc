#include "tests/abuse/stopped_log.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/abuse/abuser.h"
#include "tests/abuse/server_process.h"

namespace muster::abuse {

namespace {

using LogClock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Returns a value of /metrics. Throws std::runtime_error if there is none.
std::uint64_t metric(const ServerProcess& server, const std::string& token, const std::string& name) {
  const auto until = LogClock::now() + std::chrono::seconds(60);
  auto stream = ByteStream::connect(server.tcp_address(), until);
  if (!stream) throw std::runtime_error(stream.error().text);
  const std::string ask = "GET /metrics HTTP/1.1\r\nHost: " + server.tcp_address() + "\r\nAuthorization: Bearer " +
                          token + "\r\nConnection: close\r\n\r\n";
  if (const auto sent = stream->send_some(std::as_bytes(std::span(ask))); !sent || *sent != ask.size())
    throw std::runtime_error("/metrics cannot be asked for");
  std::string text;
  std::vector<std::byte> part(1 << 16);
  while (LogClock::now() < until) {
    const auto got = stream->receive_some(part);
    if (!got) break;
    if (*got == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    text.append(reinterpret_cast<const char*>(part.data()), *got);
  }
  const std::size_t at = text.find("\n" + name + " ");
  if (at == std::string::npos) throw std::runtime_error("no " + name + " in /metrics: " + text.substr(0, 300));
  std::uint64_t value = 0;
  std::from_chars(text.data() + at + name.size() + 2, text.data() + text.size(), value);
  return value;
}

/// Reads a log on a thread, unless it is paused.
class Reader {
 public:
  explicit Reader(FifoLog& log)
      : thread_([&](const std::stop_token& stops) {
          while (!stops.stop_requested()) {
            if (reads_) take(log.read());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  void pause(bool paused) { reads_ = !paused; }
  std::uint64_t lines() const { return lines_; }
  /// Returns the sum of the lost lines that lines of the log reported.
  std::uint64_t said_lost() const { return said_lost_; }

 private:
  void take(const std::string& text) {
    rest_ += text;
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
      ++lines_;
      const std::size_t at = rest_.find(" lines of the log were lost");
      if (at >= end) continue;
      const std::size_t begin = rest_.rfind(' ', at - 1) + 1;
      std::uint64_t count = 0;
      std::from_chars(rest_.data() + begin, rest_.data() + at, count);
      said_lost_ += count;
    }
  }

  std::atomic<bool> reads_ = true;
  std::atomic<std::uint64_t> lines_ = 0, said_lost_ = 0;
  std::string rest_;
  std::jthread thread_;
};

}  // namespace

std::string StoppedLogReport::text() const {
  std::stringstream out;
  const auto ms = [](nanoseconds time) { return static_cast<double>(time.count()) / 1e6; };
  for (const auto* waits : {&read, &stopped}) {
    out << (waits == &read ? "log read:" : "log not read:");
    for (const auto& [what, of] : *waits)
      out << " " << what << " " << of.each.size() << " times, half within " << ms(of.within(0.5)) << " ms, 99 % "
          << ms(of.within(0.99)) << ", longest " << ms(of.longest()) << ";";
    out << "\n";
  }
  out << "lines read " << lines_read << ", lost meanwhile " << lost_while_read << "; lost in all " << lost
      << ", reported by the log " << said_lost << "\n";
  return out.str();
}

StoppedLogReport stopped_log(const AbuseOptions& options) {
  StoppedLogReport report;
  const std::string path = options.folder + "/log";
  FifoLog log(path);
  Reader reader(log);
  ServerProcess server(options.server, options.folder + "/logged.muster", server_arguments(options, "127.0.0.1:0"),
                       path);
  const ClientOptions owners = as_owner(server.address());
  Owner owner(owners);
  const auto mean = must(
      owner.client().ask(session::CreateToken{.name = "mean", .role = static_cast<std::uint8_t>(session::Role::edit)}));
  Random random(options.seed);
  Knowledge known;
  known.learn(owner.client().types(), random);
  known.learn_world(owner.client());
  AbuseReport abused;
  const Tokens tokens = {mean.token, mean.token, mean.token, mean.token};
  std::vector<std::unique_ptr<Abuser>> abusers;
  for (std::uint32_t i = 0; i < options.sessions; ++i)
    abusers.push_back(std::make_unique<Abuser>(random.next(), known, server.address(), tokens, abused));
  const auto visitor = must(owner.client().ask(
      session::CreateToken{.name = "visitor", .role = static_cast<std::uint8_t>(session::Role::view)}));
  Visitors visitors(server.address(), visitor.token);
  Crowd crowd(server.address(), mean.token, 2 * options.limits.at("user_sessions_max"));
  const auto abuse_for = [&](nanoseconds time) {
    std::atomic<bool> over = false;
    std::string wrong;
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
    for (const auto begin = LogClock::now(); LogClock::now() < begin + time && server.running();) {
      for (const auto& abuser : abusers) abuser->go_on(options.requests_per_look, false);
      crowd.go_on();
      visitors.go_on();
      std::this_thread::sleep_for(options.rest);
    }
    over = true;
    asks.join();
    if (!wrong.empty()) throw std::runtime_error("the owner is not answered: " + wrong);
    return std::exchange(owner.waits(), {});
  };
  const auto lost = [&] { return metric(server, owners.token, "muster_log_lines_lost_total"); };
  report.read = abuse_for(options.time / 4);
  report.lost_while_read = lost();
  report.lines_read = reader.lines();
  reader.pause(true);
  log.fill();
  report.stopped = abuse_for(options.time);
  must(owner.client().ask(session::Kick{.name = "mean"}));
  must(owner.client().ask(session::RevokeToken{.name = "mean"}));
  reader.pause(false);
  const auto until = LogClock::now() + std::chrono::minutes(1);
  do {
    if (LogClock::now() > until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    report.lost = lost();
  } while (report.lost == 0 || reader.said_lost() != report.lost);
  report.said_lost = reader.said_lost();
  report.exit_code = server.stop();
  return report;
}

}  // namespace muster::abuse
