#include "server/session/shares.h"

#include <algorithm>
#include <string>

#include "server/session/session.h"

namespace muster {
namespace {

struct Share {
  ShareOf held;
  const char* limit;
  const char* what;
  std::uint64_t (*max)(const ServerLimits&) noexcept;
};

template <auto member>
std::uint64_t max(const ServerLimits& limits) noexcept {
  return limits.*member;
}

constexpr std::array<Share, share_kinds> shares = {{
    {ShareOf::sessions, "user_sessions_max", "sessions", max<&ServerLimits::user_sessions_max>},
    {ShareOf::watches, "user_watches_max", "watches", max<&ServerLimits::user_watches_max>},
    {ShareOf::watched_entities, "user_watched_entities_max", "watched entities",
     max<&ServerLimits::user_watched_entities_max>},
    {ShareOf::frames_bytes, "user_frames_bytes_max", "bytes of frames that have begun to arrive",
     max<&ServerLimits::user_frames_bytes_max>},
    {ShareOf::unused_ids, "user_unused_ids_max", "unused ids", max<&ServerLimits::user_unused_ids_max>},
    {ShareOf::timers, "user_timers_max", "timers waiting", max<&ServerLimits::user_timers_max>},
    {ShareOf::timers_bytes, "user_timers_bytes_max", "bytes of timed batches that wait",
     max<&ServerLimits::user_timers_bytes_max>},
    {ShareOf::templates, "user_templates_max", "templates", max<&ServerLimits::user_templates_max>},
    {ShareOf::templates_bytes, "user_templates_bytes_max", "bytes of templates",
     max<&ServerLimits::user_templates_bytes_max>},
    {ShareOf::texts, "user_texts_max", "texts of their own", max<&ServerLimits::user_texts_max>},
    {ShareOf::texts_bytes, "user_texts_bytes_max", "bytes of texts of their own",
     max<&ServerLimits::user_texts_bytes_max>},
    {ShareOf::entities, "user_entities_max", "entities", max<&ServerLimits::user_entities_max>},
}};
static_assert([] {
  for (std::size_t i = 0; i < share_kinds; ++i)
    if (shares[i].held != static_cast<ShareOf>(i)) return false;
  return true;
}());

const Share& share_of(ShareOf what) noexcept { return shares[static_cast<std::size_t>(what)]; }

std::optional<session::Fault> fault_over(const ServerLimits& limits, std::uint64_t user, ShareOf what,
                                         std::uint64_t would_be) {
  const Share& share = share_of(what);
  const std::uint64_t allowed = share.max(limits);
  if (would_be <= allowed) return std::nullopt;
  const std::string bound = std::to_string(allowed);
  return fault_of(session::FaultCode::refused, share.limit,
                  "all sessions of user " + std::to_string(user) + " together would have " + std::to_string(would_be) +
                      " " + share.what + "; one user may have " + bound + " (--limit " + share.limit + "=" + bound +
                      ")");
}

}  // namespace

std::string_view share_limit(ShareOf what) noexcept { return share_of(what).limit; }

std::uint64_t Shares::held(std::uint64_t user, ShareOf what) const {
  const MutexLock lock(mutex_);
  const auto at = users_.find(user);
  return at == users_.end() ? 0 : at->second[static_cast<std::size_t>(what)];
}

void Shares::add(std::uint64_t user, ShareOf what, std::int64_t more) {
  const MutexLock lock(mutex_);
  std::uint64_t& count = users_[user][static_cast<std::size_t>(what)];
  const auto less = static_cast<std::uint64_t>(-more);
  count = more >= 0 ? count + static_cast<std::uint64_t>(more) : count - std::min(count, less);
}

void Shares::set(std::uint64_t user, ShareOf what, std::uint64_t now) {
  const MutexLock lock(mutex_);
  users_[user][static_cast<std::size_t>(what)] = now;
}

std::optional<session::Fault> Shares::refuses_count(std::uint64_t user, const Rights& rights, ShareOf what,
                                                    std::uint64_t would_be) const {
  if (rights.role >= RemoteRight::admin) return std::nullopt;
  return fault_over(limits_, user, what, would_be);
}

std::optional<session::Fault> Shares::refuses(std::uint64_t user, const Rights& rights, ShareOf what,
                                              std::uint64_t more) const {
  return refuses_count(user, rights, what, held(user, what) + more);
}

std::optional<session::Fault> Shares::take(std::uint64_t user, const Rights& rights, ShareOf what, std::uint64_t more) {
  if (auto fault = refuses(user, rights, what, more)) return fault;
  add(user, what, static_cast<std::int64_t>(more));
  return std::nullopt;
}

}  // namespace muster
