// Answers questions about sessions and about the world's work, as used by `muster who`, `top`, and
// `trace`.
#include <algorithm>
#include <expected>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/observe/clock.h"
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

/// Ends the trace in a single piece of work, and then sends the trace as room becomes available.
class TraceEnding final : public SeldomWork {
 public:
  explicit TraceEnding(const Asked& asked) : SeldomWork(asked, asked.of().seldom) {}

 private:
  Progress piece() override {
    auto texts = asked_.of().trace.end(asked_.to());
    if (!texts) {
      asked_.fault(texts.error());
      return Progress::done;
    }
    texts_ = std::move(*texts);
    return Progress::again;
  }
  Progress finish(Steps& steps) override {
    for (; next_ < texts_.size(); ++next_) {
      const session::TraceText& text = texts_[next_];
      if (!steps.left()) return Progress::again;
      if (!asked_.has_room(text.bytes.size())) return Progress::room;
      steps.spend_bytes(text.bytes.size());
      asked_.answer(text, next_ + 1 < texts_.size() ? std::uint32_t{frame_more} : 0);
    }
    return Progress::done;
  }

  std::vector<session::TraceText> texts_;
  std::size_t next_ = 0;
};

/// Adds zeros, because the work of another session tells how much it sees.
void add_unseen_work(session::Sessions& page) {
  page.edits.push_back(0);
  page.received_bytes.push_back(0);
  page.sent_bytes.push_back(0);
  page.answer_bytes.push_back(0);
  page.watch_bytes.push_back(0);
  page.watches.push_back(0);
  page.watched.push_back(0);
  page.rows.push_back(0);
  page.oldest_ns.push_back(0);
  page.connected_ns.push_back(0);
  page.waits_for.push_back(session::WaitsFor::nothing);
  page.stuck_ns.push_back(0);
}

}  // namespace

void answer_once(const Asked& asked, const session::ListSessions& what, Steps& steps) {
  const AnswerSources& of = asked.of();
  std::vector<std::shared_ptr<Session>> all = of.desk.present();
  steps.spend(100 + all.size());
  std::erase_if(all, [&](const auto& session) { return session->number <= what.after; });
  std::ranges::sort(all, {}, [](const auto& session) { return session->number; });
  const auto watched = of.watches.by_session();
  session::Sessions page;
  page.sequence = asked.registry.sequence();
  const std::size_t rows_max = rows_allowed(what.limit, asked.limits);
  const std::uint64_t now_ns = steady_ns();
  std::size_t bytes = 0;
  for (const auto& session : all) {
    page.more = page.sessions.size() >= rows_max || bytes >= asked.limits.page_bytes_max;
    if (page.more) break;
    bytes += 100 + session->name.size() + session->kind.size();
    const std::shared_ptr<Connection> connection = session->connection();
    const Outgoing::Waiting waiting = connection->outgoing.waiting();
    const auto watches = watched.find(session.get());
    const Watches::OfSession own = watches == watched.end() ? Watches::OfSession() : watches->second;
    page.sessions.push_back(session->number);
    page.users.push_back(session->user);
    page.names.push_back(session->name);
    page.kinds.push_back(session->kind);
    page.roles.push_back(static_cast<std::uint8_t>(session->rights.role));
    const bool is_own = session == asked.from;
    page.own.push_back(is_own ? 1 : 0);
    if (asked.sight && !is_own) {
      add_unseen_work(page);
      continue;
    }
    page.edits.push_back(session->seat()->edits);
    page.received_bytes.push_back(connection->received_bytes.load(std::memory_order_relaxed));
    page.sent_bytes.push_back(connection->outgoing.taken());
    page.answer_bytes.push_back(waiting.control);
    page.watch_bytes.push_back(waiting.data);
    page.watches.push_back(own.watches);
    page.watched.push_back(own.entities);
    // Rows that were looked at in vain count, too.
    page.rows.push_back(asked.sight ? 0 : session->told_rows.load(std::memory_order_relaxed));
    const Outgoing::Backlog line = connection->outgoing.backlog(now_ns);
    page.oldest_ns.push_back(std::max(own.oldest_ns, line.oldest_ns));
    page.connected_ns.push_back(now_ns - std::min(now_ns, session->joined_ns));
    page.waits_for.push_back(line.waits_for);
    page.stuck_ns.push_back(line.stuck_ns);
  }
  asked.answer(page);
}

void answer_once(const Asked& asked, const session::ListEnded& what, Steps& steps) {
  session::Ended answer;
  answer.sequence = asked.registry.sequence();
  const std::uint64_t now_ns = steady_ns();
  const std::vector<EndedSession> all = asked.of().desk.ended(what.limit == 0 ? SIZE_MAX : what.limit);
  steps.spend(all.size());
  for (const EndedSession& each : all) {
    answer.sessions.push_back(each.number);
    answer.users.push_back(each.user);
    answer.names.push_back(each.name);
    answer.kinds.push_back(each.kind);
    answer.ago_ns.push_back(now_ns - std::min(now_ns, each.at_ns));
    answer.codes.push_back(static_cast<std::uint16_t>(each.why.code));
    answer.texts.push_back(each.why.text);
  }
  asked.answer(answer);
}

void answer_once(const Asked& asked, const session::GetActivity& what, Steps& steps) {
  steps.spend(1000);
  session::Activity answer = asked.of().activity.ask(std::min(what.limit, asked.limits.rows_max), steady_ns());
  answer.processor_ns = asked.of().world.processor_ns();
  answer.watch_ns = asked.of().watches.thread_ns();
  asked.answer(answer);
}

void answer_once(const Asked& asked, const session::BeginTrace& what, Steps&) {
  asked.of().trace.begin(asked.to(), asked.request, what.causes != 0);
}

void answer_once(const Asked& asked, const session::ReadLog& what, Steps& steps) {
  const std::uint32_t rows = rows_allowed(what.limit, asked.limits);
  steps.spend(rows);
  asked.of().log.read(asked.from, asked.request, what, rows, asked.limits.page_bytes_max);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::EndTrace&) {
  return std::make_unique<TraceEnding>(asked);
}

}  // namespace muster
