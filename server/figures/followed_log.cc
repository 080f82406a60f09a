#include "server/figures/followed_log.h"

#include <algorithm>
#include <utility>

#include "registry/host.h"
#include "registry/observe/log.h"
#include "system/random_id.h"

namespace muster {
namespace {

static_assert(static_cast<int>(session::LogLevel::error) == static_cast<int>(LogLevel::error));

/// Estimate of the size of a LogLines, and of a line without its strings.
constexpr std::size_t page_bytes = 256, line_bytes = 64;

}  // namespace

FollowedLog::FollowedLog(const EntityRegistry& registry) : registry_(registry), log_(random_id()) {}

session::LogLines FollowedLog::page(std::uint64_t after, std::uint32_t rows, std::size_t bytes_max) const {
  const GameLog& log = registry_.host().log();
  session::LogLines page;
  page.sequence = registry_.sequence();
  page.log = log_;
  page.lost = log.lost();
  std::uint64_t last = after;
  std::size_t bytes = page_bytes;
  for (LogLine& line : log.after(after, rows)) {
    bytes += line_bytes + line.handler.size() + line.text.size();
    if (bytes > bytes_max && !page.numbers.empty()) break;
    last = line.number;
    page.numbers.push_back(line.number);
    page.sequences.push_back(line.sequence);
    page.clocks_ns.push_back(line.clock_ns);
    page.levels.push_back(static_cast<std::uint8_t>(line.level));
    page.entities.push_back(line.about);
    page.handlers.push_back(std::move(line.handler));
    page.texts.push_back(std::move(line.text));
    page.lost_before.push_back(line.lost_before);
  }
  page.more = last < log.last();
  return page;
}

void FollowedLog::read(const std::shared_ptr<Session>& from, std::uint64_t request, const session::ReadLog& what,
                       std::uint32_t rows, std::size_t bytes_max) {
  // A number of an earlier server may be higher than those of this one.
  const std::uint64_t after = what.after > registry_.host().log().last() ? 0 : what.after;
  const session::LogLines lines = page(after, rows, bytes_max);
  answer(*from, request, lines);
  if (what.follow != 1) return;
  leave(*from);
  const std::uint64_t told = lines.numbers.empty() ? after : lines.numbers.back();
  followers_.push_back({.session = from, .told = told, .rows = rows, .bytes_max = bytes_max});
}

void FollowedLog::tell() {
  if (followers_.empty()) return;
  const std::uint64_t last = registry_.host().log().last();
  for (Follower& follower : followers_) {
    while (follower.told < last && follower.session->outgoing()->has_answer_room(follower.bytes_max)) {
      const session::LogLines news = page(follower.told, follower.rows, follower.bytes_max);
      follower.told = news.numbers.back();
      answer(*follower.session, 0, news);
    }
  }
}

void FollowedLog::leave(const Session& session) {
  std::erase_if(followers_, [&](const Follower& follower) { return follower.session.get() == &session; });
}

}  // namespace muster
