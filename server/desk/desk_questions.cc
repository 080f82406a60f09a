// Which work each question of a session begins, and the questions that are about the world as a whole.
#include <algorithm>

#include "server/desk/desk.h"
#include "server/questions/questions.h"
#include "server/questions/template_questions.h"
#include "system/mutex.h"

namespace muster {

/// What cannot be cut into slices: one such piece of work in a slice, and seldom.
namespace {

/// Work that is due seldom, and done at once.
class SeldomWork : public Inquiry {
 public:
  SeldomWork(const Asked& asked, Seldom& seldom, std::function<void()> work)
      : asked_(asked), seldom_(seldom), work_(std::move(work)) {}
  Progress go_on(Steps& steps) override {
    if (!asked_.has_room(4096)) return Progress::room;
    if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
    seldom_.run(work_);
    steps.spend(asked_.limits.slice_steps);
    return Progress::done;
  }

 protected:
  const Asked asked_;
  Seldom& seldom_;

 private:
  const std::function<void()> work_;
};

/// Such work that opens or changes a watch.
class WatchOpening final : public SeldomWork {
 public:
  WatchOpening(const Asked& asked, Watches& watches, Seldom& seldom, std::function<void()> work)
      : SeldomWork(asked, seldom, std::move(work)), watches_(watches) {}
  Progress go_on(Steps& steps) override {
    // What is said of watches waits for the client's credit, too: it may wait for as much as it likes, but not be told ever more.
    if (asked_.to().outgoing->held_for_credit() > held_max) {
      asked_.fault(fault_of(session::FaultCode::busy, "no_credit",
                            std::to_string(held_max) +
                                " bytes about watches wait for the client's Credit; nothing was opened or changed"));
      return Progress::done;
    }
    if (!asked_.has_room(4096)) return Progress::room;
    if (!watches_.orders_done()) return Progress::elsewhere;
    seldom_.took(std::chrono::nanoseconds(watches_.take_orders_ns()));
    return SeldomWork::go_on(steps);
  }

 private:
  static constexpr std::size_t held_max = 64u << 10;
  Watches& watches_;
};

}  // namespace

std::unique_ptr<Inquiry> Desk::seldom(const Asked& asked, Seldom& seldom, std::function<void()> work) {
  return std::make_unique<SeldomWork>(asked, seldom, std::move(work));
}

std::unique_ptr<Inquiry> Desk::opening(const Asked& asked, std::function<void()> work) {
  return std::make_unique<WatchOpening>(asked, watches_, watches_seldom_, std::move(work));
}

std::unique_ptr<Inquiry> Desk::save(const Asked& asked) {
  class Saving final : public Inquiry {
   public:
    Saving(const Asked& asked, const DeskHost& host, Seldom& seldom) : asked_(asked), host_(host), seldom_(seldom) {}
    Progress go_on(Steps& steps) override {
      if (!asked_.has_room(4096)) return Progress::room;
      if (!begun_) {
        if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
        sequence_ = asked_.registry.sequence();
        seldom_.run([&] { begun_ = begin(); });
        steps.spend(asked_.limits.slice_steps);
      }
      if (!*saved_) return Progress::elsewhere;
      if (**saved_)
        answer(asked_.to(), asked_.request, session::Saved{.sequence = sequence_});
      else
        asked_.fault(fault_of(session::FaultCode::failed, "save_failed", (*saved_)->error()));
      return Progress::done;
    }

   private:
    bool begin() {
      // The session may end, and this with it, before it is saved.
      if (host_.begin_save) return host_.begin_save([to = saved_](DeskHost::Saved saved) { *to = std::move(saved); });
      *saved_ = host_.save ? host_.save() : DeskHost::Saved();
      return true;
    }

    const Asked asked_;
    const DeskHost& host_;
    Seldom& seldom_;
    bool begun_ = false;
    std::uint64_t sequence_ = 0;
    const std::shared_ptr<std::optional<DeskHost::Saved>> saved_ = std::make_shared<std::optional<DeskHost::Saved>>();
  };
  return std::make_unique<Saving>(asked, host_, seldom_);
}

std::unique_ptr<Inquiry> Desk::end_trace(const Asked& asked) {
  class Pieces final : public Inquiry {
   public:
    Pieces(const Asked& asked, Seldom& seldom, SessionTrace& trace) : asked_(asked), seldom_(seldom), trace_(trace) {}
    Progress go_on(Steps& steps) override {
      if (pieces_.empty()) {
        if (!asked_.has_room(4096)) return Progress::room;
        if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
        std::expected<std::vector<session::TraceText>, session::Fault> pieces;
        seldom_.run([&] { pieces = trace_.end(asked_.to()); });
        if (!pieces) {
          asked_.fault(pieces.error());
          return Progress::done;
        }
        pieces_ = std::move(*pieces);
        steps.spend(asked_.limits.slice_steps);
      }
      for (; next_ < pieces_.size(); ++next_) {
        const session::TraceText& piece = pieces_[next_];
        if (!steps.left()) return Progress::again;
        if (!asked_.has_room(piece.bytes.size())) return Progress::room;
        steps.spend_bytes(piece.bytes.size());
        answer(asked_.to(), asked_.request, piece, next_ + 1 < pieces_.size() ? std::uint32_t{frame_more} : 0);
      }
      return Progress::done;
    }

   private:
    const Asked asked_;
    Seldom& seldom_;
    SessionTrace& trace_;
    std::vector<session::TraceText> pieces_;
    std::size_t next_ = 0;
  };
  return std::make_unique<Pieces>(asked, seldom_, trace_);
}

std::vector<std::shared_ptr<Session>> Desk::present() const {
  std::vector<std::shared_ptr<Session>> present;
  const MutexLock lock(mutex_);
  for (const auto& [author, session] : sessions_) present.push_back(session);
  return present;
}

std::unique_ptr<Inquiry> Desk::drop_texts(const Asked& asked) {
  class Sweeping final : public Inquiry {
   public:
    Sweeping(const Asked& asked, const Desk& desk, Seldom& seldom)
        : asked_(asked), desk_(desk), seldom_(seldom), sweep_(asked.registry) {}
    Progress go_on(Steps& steps) override {
      if (!asked_.has_room(256)) return Progress::room;
      if (!seldom_.due(Seldom::Clock::now())) return Progress::later;
      bool more = false;
      seldom_.run([&] { more = sweep_.go_on(desk_.present()); });
      steps.spend(asked_.limits.slice_steps);
      if (more) return Progress::later;
      const EntityRegistry& registry = asked_.registry;
      answer(asked_.to(), asked_.request,
             session::TextsDropped{
                 .sequence = registry.sequence(), .dropped = sweep_.dropped(), .left = registry.text_count()});
      return Progress::done;
    }

   private:
    const Asked asked_;
    const Desk& desk_;
    Seldom& seldom_;
    TextSweep sweep_;
  };
  return std::make_unique<Sweeping>(asked, *this, seldom_);
}

std::unique_ptr<Inquiry> Desk::begin(const Question& question) {
  const Asked asked{registry_, limits_, question.from, question.request};
  const BatchView batch{std::span<const std::byte>(question.batch)};
  if (auto inquiry = begin_question(asked, batch)) return inquiry;
  const auto opening = [&](std::function<void()> work) { return this->opening(asked, std::move(work)); };
  if (auto inquiry = begin_watch_question(asked, batch, watches_, opening)) return inquiry;
  if (auto inquiry = clock_.begin(asked, batch)) return inquiry;
  if (auto inquiry = durable_.begin(asked, batch)) return inquiry;
  const auto once = [&](std::function<void(Steps&)> f) { return std::make_unique<Once>(asked, std::move(f)); };
  Session& to = *question.from;
  const std::uint64_t request = question.request;
  switch (batch.type()) {
    case TypeTraits<session::RequestGrant>::id:
      return once([&to, request, this, count = session::read<session::RequestGrant>(batch).count](Steps& steps) {
        steps.spend(std::min(count, limits_.grant_count_max) / 8);
        grant(to, request, count);
      });
    case TypeTraits<session::AddSchema>::id:
      return seldom(asked, seldom_, [&to, request, this, schema = session::read<session::AddSchema>(batch)] {
        add_schema(to, request, schema.bytes);
      });
    case TypeTraits<session::ReadTemplates>::id:
      return begin_read_templates(asked, session::read<session::ReadTemplates>(batch), seldom_,
                                  [&to, this](BatchView definitions) { return intake_.admit(to, definitions); });
    case TypeTraits<session::Save>::id: return save(asked);
    case TypeTraits<session::Reload>::id:
      return seldom(asked, seldom_, [&to, request, this, plugin = session::read<session::Reload>(batch).plugin] {
        reload(to, request, plugin);
      });
    case TypeTraits<session::BeginTrace>::id: return once([&to, request, this](Steps&) { trace_.begin(to, request); });
    case TypeTraits<session::EndTrace>::id: return end_trace(asked);
    case TypeTraits<session::DropTexts>::id: return drop_texts(asked);
    case TypeTraits<session::GetInfo>::id:
      if (session::read<session::GetInfo>(batch).hash != 1)
        return once([&to, request, this](Steps&) { info(to, request, false); });
      return seldom(asked, seldom_, [&to, request, this] { info(to, request, true); });
    case TypeTraits<session::ListEnded>::id:
      return once([&to, request, this, limit = session::read<session::ListEnded>(batch).limit](Steps& steps) {
        steps.spend(ended_max);
        list_ended(to, request, limit);
      });
    case TypeTraits<session::ListSessions>::id:
      return once([&to, request, this, what = session::read<session::ListSessions>(batch)](Steps& steps) {
        steps.spend(100 + sessions());
        list_sessions(to, request, what);
      });
    case TypeTraits<session::GetActivity>::id:
      return once([&to, request, this, limit = session::read<session::GetActivity>(batch).limit](Steps& steps) {
        steps.spend(1000);
        tell_activity(to, request, limit);
      });
    case TypeTraits<session::GetLoad>::id: return once([&to, request, this](Steps&) { load(to, request); });
    default: break;
  }
  return once([asked](Steps&) {
    asked.fault(fault_of(session::FaultCode::bad_question, "bad_question", "this server has no answer to that"));
  });
}

}  // namespace muster
