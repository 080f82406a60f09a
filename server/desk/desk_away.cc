// Sessions that have lost their connection and can be resumed.
//
//   leave()       connected -> away       or, if the session cannot be resumed, it ends
//   resume()      away or connected -> connected
//   end_away()    away for too long -> ends
//
// A session that is away keeps its seat, its place in the intake and its watches, which send
// nothing (server/watches/watch.h). Its answers are dropped, except those to edits
// (server/edits/repeated_edits.cc). It does not count toward the limit on sessions.
#include <algorithm>
#include <utility>

#include "registry/observe/clock.h"
#include "server/desk/desk.h"
#include "system/random_id.h"

namespace muster {

bool Desk::stays_away(const Session& session) const {
  if (!session.resumable || session.said_goodbye || session.evicted.load(std::memory_order_relaxed)) return false;
  const auto why = session.outgoing()->closed_by();
  if (!why) return true;
  using Code = session::FaultCode;
  switch (why->code) {
    case Code::silent:
    case Code::slow_reader:
    case Code::stalled:
    case Code::stopping: return true;
    case Code::bad_frame: return why->reason == "ended_inside";
    default: return false;
  }
}

void Desk::let_go(std::shared_ptr<Session> session) {
  session->ends = true;
  left_.push_back(std::move(session));
  ++ending_;
}

void Desk::leave(const Connection& connection) {
  std::shared_ptr<Session> session = connection.session();
  if (!session || !session->disconnect(connection)) return;
  shares_.add(session->user, ShareOf::sessions, -1);
  const bool stays = stays_away(*session);
  {
    const MutexLock lock(mutex_);
    if (!stays) {
      let_go(std::move(session));
    } else {
      const std::uint64_t user = session->user;
      const auto for_ns = static_cast<std::uint64_t>(limits_.resume_time_max.count());
      away_.push_back({std::move(session), steady_ns() + for_ns});
      const auto is_of_user = [&](const Away& away) { return away.session->user == user; };
      if (static_cast<std::uint64_t>(std::ranges::count_if(away_, is_of_user)) > limits_.user_away_sessions_max)
        end_away(std::ranges::find_if(away_, is_of_user));
      if (away_.size() > limits_.away_sessions_max) end_away(away_.begin());
    }
  }
  wake();
}

void Desk::end_away(std::deque<Away>::iterator at) {
  std::shared_ptr<Session> session = std::move(at->session);
  away_.erase(at);
  let_go(std::move(session));
}

std::uint32_t Desk::evict_away(std::uint64_t user) {
  std::uint32_t count = 0;
  {
    const MutexLock lock(mutex_);
    for (std::size_t i = away_.size(); i-- > 0;) {
      if (away_[i].session->user != user) continue;
      away_[i].session->evicted = true;
      end_away(away_.begin() + static_cast<std::ptrdiff_t>(i));
      ++count;
    }
  }
  if (count > 0) wake();
  return count;
}

std::uint32_t Desk::away_sessions() const {
  const MutexLock lock(mutex_);
  return static_cast<std::uint32_t>(away_.size());
}

std::uint64_t Desk::end_away() {
  const std::uint64_t now_ns = steady_ns();
  const auto time_ns = static_cast<std::uint64_t>(limits_.resume_time_max.count());
  if (!earlier_forgotten_ && std::chrono::steady_clock::now() - started_ > limits_.resume_time_max) {
    // Sessions of the world's previous process can no longer be resumed.
    earlier_forgotten_ = true;
    std::unordered_set<std::uint64_t> numbers;
    for (const auto& session : present()) numbers.insert(session->number);
    applied_.keep_only([&](std::uint64_t number) { return numbers.contains(number); });
    const MutexLock lock(mutex_);
    ended_earlier_.clear();
  }
  const MutexLock lock(mutex_);
  while (!away_.empty() && away_.front().until_ns <= now_ns) end_away(away_.begin());
  return away_.empty() ? 0 : std::min(away_.front().until_ns - now_ns, time_ns) + 1;
}

std::expected<std::shared_ptr<Session>, Desk::NotResumed> Desk::resume_own(
    const ResumeAsked& asked, const std::shared_ptr<Connection>& connection,
    const std::function<void(Session&)>& greet) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Connection> before;
  bool was_away = false;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(asked.session);
    if (found == sessions_.end() || found->second->ends)
      return std::unexpected(NotResumed{"session_ended", "the session has ended"});
    session = found->second;
    if (!session->resumable || session->user != asked.user)
      return std::unexpected(NotResumed{"not_resumable", "the session cannot be resumed"});
    if (std::ranges::find(epochs_, asked.epoch) == epochs_.end() && !is_of_earlier_desk(asked.session))
      return std::unexpected(NotResumed{"other_epoch", "the session has never been in this epoch"});
    was_away = std::erase_if(away_, [&](const Away& away) { return away.session == session; }) > 0;
    greet(*session);
    before = session->connect(connection);
    returned_.push_back(session);
  }
  if (was_away) {
    shares_.add(session->user, ShareOf::sessions, 1);
  } else {
    session::Fault why = fault_of(session::FaultCode::taken_over, "taken_over",
                                  "the session was resumed on a newer connection, which has it now");
    why.closes = true;
    before->outgoing.fault(why, 0);
  }
  wake();
  return session;
}

std::expected<std::shared_ptr<Session>, Desk::NotResumed> Desk::resume(const ResumeAsked& asked, const Rights& rights,
                                                                       std::string name, std::string kind,
                                                                       const std::shared_ptr<Connection>& connection,
                                                                       const std::function<void(Session&)>& greet) {
  auto own = resume_own(asked, connection, greet);
  if (own || !is_of_earlier_desk(asked.session) || own.error().reason != std::string_view("session_ended")) return own;
  // A session of the world's previous process. What it has applied is in the journal.
  if (std::chrono::steady_clock::now() - started_ > limits_.resume_time_max)
    return std::unexpected(NotResumed{"too_old", "the server was started again too long ago"});
  if (auto full = full_for(rights, asked.user)) return std::unexpected(NotResumed{"full", std::move(full->text)});
  SessionIdentity identity{.secret = random_id(),
                           .number = asked.session,
                           .user = asked.user,
                           .name = std::move(name),
                           .kind = std::move(kind),
                           .joined_ns = steady_ns(),
                           .resumable = true};
  auto session = std::make_shared<Session>(std::move(identity), rights, limits_.request_bytes_max, requests_);
  {
    const MutexLock lock(mutex_);
    if (sessions_.contains(asked.session) || ended_earlier_.contains(asked.session)) return own;
    // Its edits are accepted if neither a run nor the level has begun in between.
    session->epoch = asked.lineage == lineage() ? epoch() : asked.epoch;
    greet(*session);
    session->connect(connection);
    sessions_.emplace(session->number, session);
    came_.push_back(session);
  }
  shares_.add(asked.user, ShareOf::sessions, 1);
  wake();
  return session;
}

}  // namespace muster
