// Answers Follow, FollowMore, and Unwatch.
#include <optional>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"
#include "server/watches/watch_asked.h"

namespace muster {
namespace {

/// Limit on the size of watch frames that are waiting for the client's Credit. The client may
/// withhold Credit for any length of time, but the server does not queue more than this limit in
/// the meantime.
constexpr std::size_t held_max = 64u << 10;

/// Returns a fault if there may not be a further watch.
std::optional<session::Fault> too_many_watches(const Asked& asked) {
  const Session& from = asked.to();
  const Watches& watches = asked.of().watches;
  const std::uint64_t reserved = from.rights.role >= RemoteRight::admin ? asked.limits.reserved_watched_entities : 0;
  if (const std::uint64_t watched = watches.entities(); watched > asked.limits.watched_entities_max + reserved)
    return fault_of(session::FaultCode::bad_question, "watched_entities_max",
                    "all watches together cover " + std::to_string(watched) + " entities; " +
                        std::to_string(asked.limits.watched_entities_max) + " are allowed");
  const Watches::OfSession own = watches.of_user(from.user);
  const Shares& shares = asked.of().shares;
  auto fault = shares.refuses_count(from.user, from.rights, ShareOf::watches, own.watches + 1);
  if (!fault) fault = shares.refuses_count(from.user, from.rights, ShareOf::watched_entities, own.entities);
  if (fault) fault->code = session::FaultCode::bad_question;
  return fault;
}

/// Opens or changes a watch as soon as the watch thread has executed its earlier orders.
class WatchOpening final : public SeldomWork {
 public:
  WatchOpening(const Asked& asked, const session::Follow& what)
      : SeldomWork(asked, asked.of().watches_seldom), what_(what) {}

 private:
  std::optional<Progress> waits() override {
    const AnswerSources& of = asked_.of();
    if (asked_.to().outgoing()->held_for_credit() > held_max) {
      asked_.fault(
          fault_of(session::FaultCode::busy, "no_credit",
                   std::to_string(held_max) +
                       " bytes about watches are waiting for the client's Credit; nothing was opened or changed"));
      return Progress::done;
    }
    if (const auto why = SeldomWork::waits()) return why;
    if (!of.watches.orders_done()) return Progress::elsewhere;
    of.watches_seldom.took(std::chrono::nanoseconds(of.watches.take_orders_ns()),
                           asked_.to().rights.role >= RemoteRight::admin);
    return std::nullopt;
  }
  Progress piece() override {
    if (auto fault = open()) asked_.fault(*fault);
    return Progress::done;
  }
  std::optional<session::Fault> open() const {
    Watches& watches = asked_.of().watches;
    if (what_.watch == 0)
      if (auto fault = too_many_watches(asked_)) return fault;
    return watches.follow(asked_.from, asked_.request, what_, asked_.limits.watches_max);
  }

  const session::Follow what_;
};

}  // namespace

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::ResumeWatches& what) {
  return seldom_once(asked, asked.of().watches_seldom, [asked, what] {
    if (what.watches.size() != what.sequences.size() || what.watches.size() != what.follows.size())
      return asked.fault(bad_watch("watches", "the columns watches, sequences and follows have different lengths"));
    asked.answer(
        asked.of().watches.resume(asked.from, what, asked.limits.watches_max, [&] { return too_many_watches(asked); }));
  });
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Follow& what) {
  return std::make_unique<WatchOpening>(asked, what);
}

void answer_once(const Asked& asked, const session::FollowMore& what, Steps& steps) {
  // The cost covers the entities named in the message, and every chunk, because each chunk is
  // checked for changes.
  steps.spend(100 + what.add.size() + what.drop.size() + what.open.size() + what.close.size() +
              asked.registry.host().storage().chunk_numbers() / 2);
  if (auto fault = asked.of().watches.follow_more(asked.to(), asked.request, what)) asked.fault(*fault);
}

void answer_once(const Asked& asked, const session::Unwatch& what, Steps&) {
  if (!asked.of().watches.close(asked.to(), what.watch, asked.request)) asked.fault(unknown_watch(what.watch));
}

}  // namespace muster
