#include "tests/abuse/one_user.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "server/file_program/backup.h"
#include "tests/abuse/abuser.h"
#include "tests/abuse/company.h"
#include "tests/abuse/server_process.h"

namespace muster::abuse {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

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
  out << "; without the user:";
  for (const auto& [what, time] : longest_calm) out << " " << what << " " << ms(time) << " ms";
  out << "\nfaults of the user:";
  for (const auto& [reason, count] : faults) out << " " << reason << " " << count;
  out << "\nrequests " << requests << ", sessions at most " << sessions_max << "\nremoved " << removed.entities
      << " entities with " << removed.others << " of others, " << removed.templates << " templates, " << removed.timers
      << " timers, " << removed.steps << " steps\nentities " << entities_before << " before, " << entities_after
      << " after; memory in MiB " << static_cast<double>(memory_before) / mib << " before, "
      << static_cast<double>(memory_max) / mib << " at most, ";
  for (const std::uint64_t bytes : memory_visits) out << static_cast<double>(bytes) / mib << " ";
  out << "after; of a server that opened a copy " << static_cast<double>(opened_before) / mib << " before, "
      << static_cast<double>(opened_after) / mib << " after\n";
  return out.str();
}

OneUserReport one_user(const AbuseOptions& options, session::Role role, bool opens_copies) {
  OneUserReport report;
  const std::string log = options.folder + "/log", world = options.folder + "/shared.muster";
  std::vector<std::string> arguments = server_arguments(options, "");
  arguments.emplace_back("--quiet");
  FifoLog stopped(log);
  stopped.fill();
  ServerProcess server(options.server, world, arguments, log);

  const ClientOptions owners = as_owner(server.address());
  Owner owner(owners);
  const auto mean =
      must(owner.client().ask(session::CreateToken{.name = "mean", .role = static_cast<std::uint8_t>(role)}));
  Random random(options.seed);
  Knowledge known;
  known.learn(owner.client().types(), random);
  known.learn_world(owner.client());
  AbuseReport abused;
  std::string wrong;
  const auto requests = [&] {
    std::uint64_t count = 0;
    for (const auto& [kind, drawn] : abused.drawn) count += drawn;
    return count;
  };
  const auto abuse_for = [&](nanoseconds time, std::uint64_t requests_min) {
    std::jthread asks([&](const std::stop_token& over) {
      try {
        while (!over.stop_requested()) {
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
    Crowd crowd(server.address(), mean.token, 2 * options.limits.at("user_sessions_max"));
    const auto begin = Clock::now();
    const auto goes_on = [&] {
      const auto past = Clock::now() - begin;
      return past < time || (requests() < requests_min && past < 20 * time);
    };
    while (goes_on() && server.running()) {
      for (const auto& abuser : abusers) abuser->go_on(options.requests_per_look, false);
      crowd.go_on();
      report.memory_max = std::max(report.memory_max, server.memory_bytes());
      std::this_thread::sleep_for(options.rest);
    }
    // Sessions that have left are counted until their requests are done.
    Client second = must(Client::connect(owners));
    const auto until = Clock::now() + std::chrono::minutes(1);
    std::uint64_t sessions = 0;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      sessions = must(second.ask(session::GetInfo{})).sessions;
    } while (sessions > options.limits.at("user_sessions_max") + 3 && Clock::now() < until);
    report.sessions_max = std::max(report.sessions_max, sessions);
    asks.request_stop();
    asks.join();
    if (!wrong.empty()) throw std::runtime_error("the owner is not answered: " + wrong);
    must(owner.client().ask(session::Kick{.name = "mean"}));
  };
  const auto clean_up = [&] {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (must(owner.client().ask(session::GetInfo{})).sessions > 1 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    must(owner.client().ask(session::SetClock{.speed = 1, .paused = 0}));
    WaitsByQuestion during = std::exchange(owner.waits(), {});
    for (int i = 0; i < 10; ++i) owner.ask_all();
    for (const auto& [what, waits] : std::exchange(owner.waits(), std::move(during)))
      report.longest_calm[what] = std::max(report.longest_calm[what], waits.longest());
    must(owner.client().ask(session::DropTexts{}));
    report.removed = must(owner.client().ask(session::RemoveOf{.user = mean.user}));
    // A save that is being written needs memory that is not left by the user. A removal gives
    // unused memory back, even if it removes nothing.
    must(owner.client().ask(session::Save{}));
    must(owner.client().ask(session::RemoveOf{.user = mean.user}));
    std::uint64_t least = server.memory_bytes();
    for (const auto end = Clock::now() + std::chrono::seconds(opens_copies ? 3 : 0); Clock::now() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      least = std::min(least, server.memory_bytes());
    }
    return least;
  };
  const auto opened_copy = [&](const std::string& name) -> std::uint64_t {
    if (!opens_copies) return 0;
    const std::string copy = options.folder + "/" + name;
    if (auto copied = back_up(world, copy); !copied) throw std::runtime_error(copied.error().what());
    return ServerProcess(options.server, copy, arguments, options.folder + "/log of copies").memory_bytes();
  };
  // Memory that a first visit allocates once is not left by the user. On a busy machine it needs
  // more time for enough requests.
  abuse_for(options.time / 4, opens_copies ? 20'000 : 0);
  report.memory_before = clean_up();
  report.opened_before = opened_copy("before.muster");
  report.load_before = must(owner.client().ask(session::GetLoad{}));
  report.entities_before = owner.entities();
  for (std::uint32_t visit = 1; visit <= options.visits; ++visit) {
    abuse_for(options.time / options.visits, 0);
    if (visit == options.visits) must(owner.client().ask(session::RevokeToken{.name = "mean"}));
    report.memory_visits.push_back(clean_up());
  }
  report.memory_after = report.memory_visits.back();
  report.opened_after = opened_copy("after.muster");
  report.left = must(owner.client().ask(session::RemoveOf{.user = mean.user}));
  report.load_after = must(owner.client().ask(session::GetLoad{}));
  report.entities_after = owner.entities();
  for (const auto& [what, waits] : owner.waits()) {
    report.longest[what] = waits.longest();
    report.asked += waits.each.size();
  }
  report.requests = requests();
  report.faults = abused.faults;
  report.exit_code = server.stop();
  return report;
}

}  // namespace muster::abuse
