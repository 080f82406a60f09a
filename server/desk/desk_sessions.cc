// What a desk tells of its sessions, and of what the world is busy with: `muster who`, `muster top`.
#include <algorithm>

#include "registry/observe/clock.h"
#include "server/desk/desk.h"
#include "server/questions/answers.h"
#include "system/mutex.h"

namespace muster {

void Desk::list_sessions(Session& to, std::uint64_t request, const session::ListSessions& what) const {
  std::vector<std::shared_ptr<Session>> all = present();
  std::erase_if(all, [&](const auto& session) { return session->author <= what.after; });
  std::ranges::sort(all, {}, [](const auto& session) { return session->author; });
  const auto watched = watches_.by_session();
  session::Sessions page;
  page.sequence = registry_.sequence();
  const std::size_t rows_max = rows_allowed(what.limit, limits_);
  const std::uint64_t now_ns = steady_ns();
  std::size_t bytes = 0;
  for (const auto& session : all) {
    page.more = page.authors.size() >= rows_max || bytes >= limits_.page_bytes_max;
    if (page.more) break;
    bytes += 100 + session->name.size() + session->kind.size();
    const Outgoing::Waiting waiting = session->outgoing->waiting();
    const auto watches = watched.find(session.get());
    const Watches::OfSession of = watches == watched.end() ? Watches::OfSession() : watches->second;
    page.authors.push_back(session->author);
    page.users.push_back(session->user);
    page.names.push_back(session->name);
    page.kinds.push_back(session->kind);
    page.roles.push_back(static_cast<std::uint8_t>(session->role));
    page.own.push_back(session.get() == &to ? 1 : 0);
    page.edits.push_back(session->edits);
    page.received_bytes.push_back(session->received_bytes.load(std::memory_order_relaxed));
    page.sent_bytes.push_back(session->outgoing->taken());
    page.answer_bytes.push_back(waiting.control);
    page.watch_bytes.push_back(waiting.data);
    page.watches.push_back(of.watches);
    page.watched.push_back(of.entities);
    page.rows.push_back(session->told_rows.load(std::memory_order_relaxed));
    const Outgoing::Line line = session->outgoing->line(now_ns);
    page.oldest_ns.push_back(std::max(of.oldest_ns, line.oldest_ns));
    page.connected_ns.push_back(now_ns - std::min(now_ns, session->joined_ns));
    page.waits_for.push_back(line.waits_for);
    page.stuck_ns.push_back(line.stuck_ns);
  }
  answer(to, request, page);
}

void Desk::list_ended(Session& to, std::uint64_t request, std::uint32_t limit) const {
  session::Ended told;
  told.sequence = registry_.sequence();
  const std::uint64_t now_ns = steady_ns();
  {
    const MutexLock lock(mutex_);
    for (auto each = ended_.rbegin(); each != ended_.rend() && (limit == 0 || told.authors.size() < limit); ++each) {
      told.authors.push_back(each->author);
      told.users.push_back(each->user);
      told.names.push_back(each->name);
      told.kinds.push_back(each->kind);
      told.ago_ns.push_back(now_ns - std::min(now_ns, each->at_ns));
      told.codes.push_back(static_cast<std::uint16_t>(each->why.code));
      told.texts.push_back(each->why.text);
    }
  }
  answer(to, request, told);
}

void Desk::tell_activity(Session& to, std::uint64_t request, std::uint32_t limit) {
  session::Activity told = activity_.ask(std::min(limit, limits_.rows_max), steady_ns());
  told.processor_ns = processor_ns();
  told.watch_ns = watches_.thread_ns();
  answer(to, request, told);
}

}  // namespace muster
