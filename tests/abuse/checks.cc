#include "tests/abuse/checks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/support/folder.h"
#include "tests/support/seeds.h"

namespace muster::abuse {

namespace {

AbuseOptions options_for(std::chrono::nanoseconds time, std::uint64_t seed, const std::string& folder) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  AbuseOptions options;
  options.seed = seed;
  options.time = time;
  options.server = MUSTER_SERVER;
  options.plugin = SKIRMISH_PLUGIN;
  options.folder = folder;
  options.entities = static_cast<std::uint32_t>(test::number_in("MUSTER_ABUSE_ENTITIES", options.entities));
  return options;
}

AbuseOptions options_with_shares(std::chrono::nanoseconds time, const std::string& folder) {
  AbuseOptions options = options_for(time, 3, folder);
  options.limits["sessions_max"] = 120;
  options.limits["user_sessions_max"] = 60;
  options.limits["user_entities_max"] = 40'000;
  options.limits["user_unused_ids_max"] = 50'000;
  options.limits["user_texts_max"] = 20'000;
  options.limits["user_timers_max"] = 2000;
  options.limits["user_templates_bytes_max"] = 2u << 20;
  options.limits["user_watched_entities_max"] = 500'000;
  options.limits["user_frames_bytes_max"] = 32u << 20;
  return options;
}

}  // namespace

AbuseReport abused_for(std::chrono::nanoseconds time, std::uint64_t seed) {
  time = std::chrono::seconds(
      test::number_in("MUSTER_ABUSE_SECONDS", std::chrono::duration_cast<std::chrono::seconds>(time).count()));
  const test::Folder folder;
  const AbuseReport report = abuse(options_for(time, seed, folder.path()));
  std::printf("%s", report.text().c_str());
  return report;
}

std::vector<OneUserReport> abused_by_one_user(std::chrono::nanoseconds time, bool opens_copies) {
  std::vector<OneUserReport> reports;
  for (const session::Role role : {session::Role::view, session::Role::edit, session::Role::control}) {
    const test::Folder folder;
    AbuseOptions options = options_with_shares(time, folder.path());
    options.visits = static_cast<std::uint32_t>(test::number_in("MUSTER_ABUSE_VISITS", options.visits));
    reports.push_back(one_user(options, role, opens_copies));
    std::printf("%s", reports.back().text().c_str());
    std::fflush(stdout);
  }
  return reports;
}

void check_shares(const OneUserReport& report) {
  CHECK(report.exit_code == 0);
  CHECK(report.asked > 0);
  CHECK(report.sessions_max <= 60 + 3);
  CHECK(report.left.entities == 0);
  CHECK(report.left.templates == 0);
  CHECK(report.left.timers == 0);
  CHECK(report.left.steps == 0);
  // A machine that does much else tells little by its memory: allocators keep pages, and edits of
  // entities of others remain. The strict bar is for long runs.
  CHECK(static_cast<double>(report.memory_after) < 1.1 * static_cast<double>(report.memory_before) + (24u << 20));
}

void check_shares_strictly(const OneUserReport& report) {
  check_shares(report);
  for (const auto& [what, time] : report.longest) {
    CAPTURE(what);
    // A machine that does much else makes the owner wait without the user, too.
    CHECK(time < std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), 5 * report.longest_calm.at(what)));
  }
  REQUIRE(report.opened_before > 0);
  // The world itself grows if the user edits entities of others. Therefore the server is compared
  // with one that has just opened the same world.
  const auto times_opened = [](std::uint64_t memory, std::uint64_t opened) {
    return static_cast<double>(memory) / static_cast<double>(opened);
  };
  CHECK(times_opened(report.memory_after, report.opened_after) <
        1.1 * times_opened(report.memory_before, report.opened_before));
}

StoppedLogReport abused_with_stopped_log(std::chrono::nanoseconds time) {
  const test::Folder folder;
  const StoppedLogReport report = stopped_log(options_with_shares(time, folder.path()));
  std::printf("%s", report.text().c_str());
  return report;
}

void check_stopped_log(const StoppedLogReport& report) {
  CHECK(report.exit_code == 0);
  CHECK(report.lines_read > 0);
  CHECK(report.lost_while_read == 0);
  CHECK(report.lost > 0);
  CHECK(report.said_lost == report.lost);
  for (const auto& [what, before] : report.read) {
    CAPTURE(what);
    const Waits& stopped = report.stopped.at(what);
    REQUIRE(stopped.each.size() > 10);
    // Twice: the machine does other things too.
    CHECK(stopped.within(0.5) < 2 * before.within(0.5) + std::chrono::milliseconds(5));
    CHECK(stopped.within(0.99) < 2 * before.within(0.99) + std::chrono::milliseconds(50));
  }
}

Reopened abused_and_reopened(std::chrono::nanoseconds time, std::uint64_t seed) {
  const test::Folder folder;
  AbuseOptions options = options_for(time, seed, folder.path());
  options.entities = 2000;
  return abuse_and_reopen(options);
}

void check_that_it_lives(const AbuseReport& report) {
  CHECK(report.exit_code == 0);
  CHECK(report.honest_edits > 0);
  CHECK(report.honest_questions > 0);
  CHECK(report.acks > 0);
  CHECK(report.malformed == 0);
  CHECK(report.ticks.all() > 0);
}

void check_memory(const AbuseReport& report) {
  CHECK(report.memory_max > 0);
  CHECK(report.memory_max < report.memory_sum);
  CHECK(report.memory_max < 1500u << 20);  // far less: not all limits are reached at once
}

void check_times(const AbuseReport& report) {
  CHECK(report.ticks.within_ns(0.999) <= 50'000'000);
  CHECK(report.honest_waits.within_ns(0.999) <= 20'000'000);
}

void check_reopened(const Reopened& reopened) {
  CHECK(reopened.exit_code == 0);
  CHECK(reopened.entities > 0);
  CHECK(reopened.hash_after == reopened.hash_before);
  CHECK(reopened.sequence_after == reopened.sequence_before);
}

}  // namespace muster::abuse
