#include "tests/abuse/checks.h"

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

}  // namespace

AbuseReport abused_for(std::chrono::nanoseconds time, std::uint64_t seed) {
  time = std::chrono::seconds(
      test::number_in("MUSTER_ABUSE_SECONDS", std::chrono::duration_cast<std::chrono::seconds>(time).count()));
  const test::Folder folder;
  const AbuseReport report = abuse(options_for(time, seed, folder.path()));
  std::printf("%s", report.text().c_str());
  return report;
}

std::vector<OneUserReport> abused_by_one_user(std::chrono::nanoseconds time) {
  std::vector<OneUserReport> reports;
  for (const session::Role role : {session::Role::view, session::Role::edit, session::Role::control}) {
    const test::Folder folder;
    AbuseOptions options = options_for(time, 3, folder.path());
    options.limits["sessions_max"] = 120;
    options.limits["user_sessions_max"] = 60;
    options.limits["user_entities_max"] = 40'000;
    options.limits["user_unused_ids_max"] = 50'000;
    options.limits["user_texts_max"] = 20'000;
    options.limits["user_timers_max"] = 2000;
    options.limits["user_templates_bytes_max"] = 2u << 20;
    options.limits["user_watched_entities_max"] = 500'000;
    options.limits["user_frames_bytes_max"] = 32u << 20;
    reports.push_back(one_user(options, role));
    std::printf("%s", reports.back().text().c_str());
    std::fflush(stdout);
  }
  return reports;
}

void check_shares(const OneUserReport& report) {
  CHECK(report.exit_code == 0);
  CHECK(report.asked > 0);
  CHECK(report.sessions_max <= 60 + 3);
  // Edits of entities of others remain. They spread rows over more archetypes and depths, and
  // therefore over more chunks. Without edits, the pages that each thread's allocator keeps remain.
  const double spread = report.edits_others ? 16u << 20 : 8u << 20;
  CHECK(static_cast<double>(report.memory_after) < 1.1 * static_cast<double>(report.memory_before) + spread);
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
