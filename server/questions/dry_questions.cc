// Answers DryRun.
#include "server/questions/answer_sources.h"
#include "server/questions/answers.h"
#include "server/questions/question_table.h"
#include "server/questions/seldom_work.h"

namespace muster {

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::DryRun& what) {
  return seldom_once(asked, asked.of().seldom, [asked, what] {
    if (asked.epoch != asked.of().desk.epoch()) return asked.fault(epoch_over_fault());
    const bool keeps_history = asked.of().world.history() != nullptr;
    const auto would = asked.of().desk.try_edit(asked.to(), what, keeps_history);
    would ? asked.answer(*would) : asked.fault(would.error());
  });
}

}  // namespace muster
