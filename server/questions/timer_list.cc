// Answers ListTimers with pages of pending timed messages.
#include <algorithm>

#include "registry/apply/timers.h"
#include "registry/entity_registry.h"
#include "registry/host.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

Entity first_target(BatchView batch) {
  if (batch.kind() == BatchKind::world || batch.count() == 0) return {};
  if (batch.kind() == BatchKind::table) return table_item(batch, batch.body()).target;
  return batch.target(0);
}

/// Timers may be added or removed between two slices, so each slice searches again for the timers
/// that follow the last row.
class TimerList final : public Inquiry {
 public:
  TimerList(Asked asked, const session::ListTimers& what)
      : asked_(std::move(asked)),
        rows_max_(rows_allowed(what.limit, asked_.limits)),
        last_{what.after_due_ns, what.after_timer} {}

  Progress go_on(Steps& steps) override {
    const auto& waiting = asked_.registry.host().timers().waiting();
    auto next = waiting.upper_bound(last_);
    steps.spend(5);
    for (; next != waiting.end(); ++next) {
      if (!steps.left()) return Progress::again;
      steps.spend(3);
      // What others wait for may concern anything.
      if (asked_.sight && !is_own(next->first)) {
        last_ = next->first;
        continue;
      }
      if (is_full()) break;
      add(next->first, BatchView(next->second.batch).inner());
    }
    if (!asked_.has_room(bytes())) return Progress::room;
    page_.sequence = asked_.registry.sequence();
    page_.clock_ns = asked_.registry.now_ns();
    const std::vector<TimerId>& own = asked_.to().seat()->timers;
    page_.total = waiting.size();
    if (asked_.sight)
      page_.total = static_cast<std::uint64_t>(
          std::ranges::count_if(own, [&](TimerId timer) { return asked_.registry.host().timers().waits(timer); }));
    page_.more = next != waiting.end();
    steps.spend_bytes(bytes());
    answer(asked_.to(), asked_.request, page_);
    return Progress::done;
  }

 private:
  static constexpr std::size_t row_bytes = 8 + 8 + 4 + 8 + 4 + 1;
  std::size_t bytes() const noexcept { return 256 + page_.timers.size() * row_bytes; }
  bool is_full() const noexcept { return page_.timers.size() >= rows_max_ || bytes() >= asked_.limits.page_bytes_max; }
  /// The session's timers are sorted, because they are numbered in ascending order.
  bool is_own(const Timers::Key& key) const { return std::ranges::binary_search(asked_.to().seat()->timers, key.id); }
  void add(const Timers::Key& key, BatchView batch) {
    last_ = key;
    page_.timers.push_back(key.id);
    page_.due_ns.push_back(key.due_ns);
    page_.types.push_back(batch.type());
    page_.targets.push_back(first_target(batch));
    // Whether the entity was hidden must not show.
    if (asked_.sight) page_.targets.back().generation &= ~replacing_bit;
    page_.counts.push_back(batch.count());
    page_.own.push_back(is_own(key) ? 1 : 0);
  }

  const Asked asked_;
  const std::uint32_t rows_max_;
  Timers::Key last_;
  session::PendingTimers page_;
};

}  // namespace

std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::ListTimers& what) {
  return std::make_unique<TimerList>(asked, what);
}

}  // namespace muster
