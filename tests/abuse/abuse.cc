#include "tests/abuse/abuse.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "client/cpp/client.h"
#include "registry/entity_registry.h"
#include "server/session/server_limits.h"
#include "tests/abuse/abuser.h"
#include "tests/abuse/honest.h"
#include "tests/abuse/server_process.h"

namespace muster::abuse {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr double mib = 1 << 20;

/// A server, what is known of its world, and those who come to it.
class Field {
 public:
  Field(const AbuseOptions& options, const std::string& hz, AbuseReport& report)
      : options_(options), report_(report), random_(options.seed) {
    const std::string token_file = options.folder + "/token";
    tokens_[3] = "the token of an admin in a test";
    std::ofstream(token_file) << tokens_[3] << '\n';
    std::filesystem::permissions(token_file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ::setenv("SKIRMISH_ENTITIES", std::to_string(options.entities).c_str(), 1);
    std::vector<std::string> arguments = {"--plugin", options.plugin, "--hz", hz,        "--token-file",
                                          token_file, "--autosave",   "0",    "--quiet", "--listen",
                                          ""};  // a save's copy is no part of what is judged
    for (const auto& [name, value] : options.limits) {
      if (!set_limit(limits_, name, value)) throw std::runtime_error("no limit is called " + name);
      arguments.push_back("--limit");
      arguments.push_back(name + "=" + std::to_string(value));
    }
    server_.emplace(options.server, options.folder + "/abused.muster", arguments, options.folder + "/log");
    client_.emplace(connect());
  }

  /// Lets the abusers in, and abuses the server until the time is over.
  void run(nanoseconds time) {
    let_abusers_in();
    Honest honest(server_->address(), tokens_[3], known_, report_);
    const auto begin = Clock::now();
    auto look_due = begin;
    for (auto now = begin; now < begin + time; now = Clock::now()) {
      bool large = std::ranges::none_of(abusers_, [](const auto& each) { return each->large(); });
      for (const auto& abuser : abusers_) {
        abuser->go_on(options_.requests_per_look, large);
        large = large && !abuser->large();
        honest.go_on();
      }
      if (now >= look_due) {
        look_due = now + std::chrono::milliseconds(200);
        if (!server_->running()) throw std::runtime_error("the server ended: " + log());
        const std::uint64_t memory = server_->memory_bytes();
        report_.memory_max = std::max(report_.memory_max, memory);
        if (now - begin < time / 2) report_.memory_max_first_half = std::max(report_.memory_max_first_half, memory);
        report_.memory_end = memory;
        client_->next(0, nanoseconds(0));  // its session is not silent
      }
      std::this_thread::sleep_for(options_.rest);
    }
  }
  void send_all_home() { abusers_.clear(); }
  int stop() { return server_->stop(); }
  Client& client() { return *client_; }
  std::string log() const {
    std::stringstream text;
    text << std::ifstream(options_.folder + "/log").rdbuf();
    return text.str();
  }

 private:
  Client connect() const {
    ClientOptions options;
    options.address = server_->address();
    options.token = tokens_[3];
    options.time_max = std::chrono::minutes(2);
    auto made = Client::connect(options);
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }
  void let_abusers_in() {
    create_users();
    known_.learn(client_->types(), random_);
    known_.learn_world(*client_);
    for (std::uint32_t i = 0; i < options_.sessions; ++i)
      abusers_.push_back(std::make_unique<Abuser>(random_.next(), known_, server_->address(), tokens_, report_));
    report_.memory_begin = server_->memory_bytes();
    // A cascade may wait while the next one comes to be.
    report_.memory_sum = memory_sum(limits_, report_.memory_begin) + 2 * RegistryOptions{}.cascade_bytes_max;
  }
  void create_users() {
    for (const session::Role role : {session::Role::view, session::Role::edit, session::Role::control}) {
      const auto number = static_cast<std::uint8_t>(role);
      const auto made = client_->ask(session::CreateToken{.name = "abuser " + std::to_string(number), .role = number});
      if (!made) throw std::runtime_error(made.error().text);
      tokens_[static_cast<std::size_t>(role) - 1] = made->token;
    }
  }

  const AbuseOptions& options_;
  AbuseReport& report_;
  Random random_;
  ServerLimits limits_;
  Tokens tokens_;
  std::optional<ServerProcess> server_;
  std::optional<Client> client_;
  Knowledge known_;
  std::vector<std::unique_ptr<Abuser>> abusers_;
};

}  // namespace

std::uint64_t Times::all() const {
  std::uint64_t all = 0;
  for (const auto& [below, count] : counts) all += count;
  return all;
}

std::uint64_t Times::within_ns(double share) const {
  const double wanted = static_cast<double>(all()) * share;
  std::uint64_t seen = 0;
  for (const auto& [below, count] : counts) {
    seen += count;
    if (static_cast<double>(seen) >= wanted) return std::min(below, longest_ns);
  }
  return longest_ns;
}

std::string AbuseReport::text() const {
  std::stringstream out;
  out.precision(3);
  const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  out << "requests by kind:";
  for (const auto& [kind, count] : drawn) out << "\n  " << kind << ": " << count;
  out << "\nfaults:";
  for (const auto& [reason, count] : faults) out << "\n  " << reason << ": " << count;
  out << "\nsessions " << sessions << ", of which the server ended " << cut << "; frames read " << frames << ", "
      << static_cast<double>(bytes) / mib << " MiB; acks " << acks;
  const auto times = [&](const char* what, const Times& of) {
    out << "\n"
        << what << " " << of.all() << ", of processor time: half within " << ms(of.within_ns(0.5)) << " ms, 99 % "
        << ms(of.within_ns(0.99)) << ", 99.9 % " << ms(of.within_ns(0.999)) << ", longest " << ms(of.longest_ns);
  };
  times("ticks", ticks);
  times("an honest client's edits", honest_waits);
  out << "\nits questions " << honest_questions << ", the longest silence of the wall clock "
      << ms(static_cast<std::uint64_t>(honest_silence_max.count())) << " ms; it had the clock run again "
      << clocks_set_right << " times";
  out << "\nmemory in MiB: " << static_cast<double>(memory_begin) / mib << " at first, at most "
      << static_cast<double>(memory_max_first_half) / mib << " in the first half and "
      << static_cast<double>(memory_max) / mib << " in all, " << static_cast<double>(memory_end) / mib
      << " at last; the limits allow " << static_cast<double>(memory_sum) / mib;
  out << "\nat last: " << last.entities << " entities, " << last.archetypes << " archetypes, " << last.texts
      << " texts, " << last.timers << " timers, " << last.templates << " templates, " << last.questions
      << " questions; processor time " << ms(last.processor_ns) << " ms\n";
  return out.str();
}

AbuseReport abuse(const AbuseOptions& options) {
  AbuseReport report;
  std::ostringstream hz;
  hz << options.hz;
  Field field(options, hz.str(), report);
  field.run(options.time);
  report.exit_code = field.stop();
  return report;
}

Reopened abuse_and_reopen(const AbuseOptions& options) {
  const auto looked_at = [](Client& client) {
    const auto info = client.ask(session::GetInfo{.hash = 1});
    if (!info) throw std::runtime_error(info.error().text);
    return *info;
  };
  Reopened made;
  AbuseReport report;
  {
    // The next tick is far away: only what arrives moves the world.
    Field field(options, "0.001", report);
    field.run(options.time);
    field.send_all_home();
    const auto until = Clock::now() + std::chrono::minutes(2);
    session::Info info = looked_at(field.client());
    while (info.sessions > 1 && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      info = looked_at(field.client());
    }
    if (info.sessions > 1) throw std::runtime_error("sessions that ended are not gone");
    // Somebody may have sped its clock up, or asked for steps.
    if (const auto paused = field.client().ask(session::SetClock{.speed = 1, .paused = 1}); !paused)
      throw std::runtime_error(paused.error().text);
    info = looked_at(field.client());
    made.hash_before = info.hash;
    made.sequence_before = info.sequence;
    made.exit_code = field.stop();
  }
  Field field(options, "0.001", report);
  const session::Info info = looked_at(field.client());
  made.hash_after = info.hash;
  made.sequence_after = info.sequence;
  made.entities = info.entities;
  return made;
}

}  // namespace muster::abuse
