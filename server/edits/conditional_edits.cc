// The part of Intake that takes edits which expect something of the world, and tries edits.
#include "registry/host.h"
#include "server/edits/dry_run.h"
#include "server/edits/expectations.h"
#include "server/edits/intake.h"
#include "server/edits/place_rights.h"
#include "server/edits/refusal_text.h"

namespace muster {

std::optional<session::Fault> Intake::open_conditional(std::span<std::byte>& edit, SeenNow* sight, Steps& turn) {
  conditional_ = session::read<session::EditIf>(BatchView(edit));
  edit = std::as_writable_bytes(std::span(conditional_.batch));
  // Carried messages would be delivered before the edit, and could change what was judged.
  if (registry_.host().carries())
    return fault_of(session::FaultCode::busy, "carries",
                    "the world still delivers messages that a cascade carried over; send the edit again later");
  auto fault = unmet_expectation(registry_, limits_, conditional_.expected, sight, turn);
  if (fault) fault->refused = BatchView(edit).count();
  return fault;
}

std::optional<session::Fault> Intake::judge(const Session& from, BatchView edit) {
  if (auto fault = closed()) return fault;
  const std::shared_ptr<Seat> seat = from.seat();
  const auto cost = judge_.judge(*seat, edit);
  if (!cost) return cost.error();
  if (from.rights.has_rules())
    if (auto fault = rule_fault(registry_, *from.rights.rules, edit)) return fault;
  return made_.refuses(from, edit, *cost);
}

std::expected<session::WouldChange, session::Fault> Intake::try_edit(const Session& from, const session::DryRun& what,
                                                                     bool keeps_history) {
  const BatchView edit{std::as_bytes(std::span(what.batch))};
  Steps steps(limits_.slice_steps);
  if (auto fault = unmet_expectation(registry_, limits_, what.expected, nullptr, steps)) {
    fault->refused = edit.count();
    return std::unexpected(*std::move(fault));
  }
  if (auto fault = judge(from, edit)) return std::unexpected(*std::move(fault));
  if (edit.type() == TypeTraits<Step>::id && !keeps_history) {
    const Receipt refused{.refused = 1, .refusal = {RefusalCode::no_edit_log, {}, edit.type()}};
    return std::unexpected(refusal_fault(registry_, limits_, refused, edit.bytes()));
  }
  return dry_run(registry_, limits_, edit);
}

}  // namespace muster
