// The part of EditJudge that makes messages with slow handlers cost more.
#include <algorithm>

#include "server/edits/edit_cost.h"

namespace muster {

std::uint64_t EditJudge::with_dearness(std::uint64_t steps, double times) noexcept {
  return static_cast<std::uint64_t>(std::min(static_cast<double>(steps) * times, 1e15));
}

void EditJudge::note_time(BatchView edit, std::uint64_t delivery, std::uint64_t ns) {
  constexpr double many = 1000;        // minimum number of estimated steps for a comparison
  constexpr double long_time = 10000;  // number of measured steps that is enough for any comparison
  constexpr double nearly_one = 1.01;
  if (edit.kind() == BatchKind::timed) return;
  const double counted = static_cast<double>(delivery + steps_around);
  const double steps = static_cast<double>(ns) / static_cast<double>(step_ns);
  const double times = std::max(steps / counted, 1.0);
  const bool says_much = counted >= many || steps >= long_time;
  auto known = dearness_.find(edit.type());
  if (known == dearness_.end()) {
    if (times <= 1 || !says_much) return;
    known = dearness_.emplace(edit.type(), times).first;
  } else if (times < known->second) {
    known->second -= (known->second - times) / 8;
  } else if (says_much) {
    known->second += (times - known->second) / 2;
  }
  const double now = known->second;
  if (now < nearly_one) dearness_.erase(known);
  if (edit.type() == known_type_) known_steps_ = now < nearly_one ? 1 : with_dearness(1, now);
}

}  // namespace muster
