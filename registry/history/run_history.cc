#include "registry/history/run_history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "messages/judge/verifier.h"
#include "registry/history/parts.h"
#include "registry/history/rows_now.h"

namespace muster {

struct RunHistory::Impl {
  explicit Impl(EntityRegistry& its) : registry(its) {}
  /// Returns true if the input consists of well-formed batches of types that the registry knows.
  bool suits(const history::SentInput& input) const {
    std::span<const std::byte> left = input.bytes;
    while (!left.empty()) {
      const auto batch = verify_batch(left, registry.types(), {.batch_bytes_max = batch_bytes_max});
      if (!batch) return false;
      left = left.subspan(batch->bytes().size());
    }
    return true;
  }
  std::vector<const history::Step*> of(bool mark) const {
    std::vector<const history::Step*> some;
    for (const history::Step& step : steps)
      if (step.parts.empty() == mark) some.push_back(&step);
    return some;
  }
  EntityRegistry& registry;
  std::vector<history::Step> steps;
  std::vector<std::uint64_t> numbers;
  std::set<std::uint64_t> changed;  // numbers of steps
};

RunHistory::RunHistory(EntityRegistry& registry) : impl_(std::make_unique<Impl>(registry)) {}
RunHistory::~RunHistory() = default;

void RunHistory::load(std::span<const EditHistory::Saved> saved) {
  impl_->steps.clear();
  impl_->numbers.clear();
  impl_->changed.clear();
  for (const EditHistory::Saved& each : saved) {
    impl_->numbers.push_back(each.number);
    auto step = history::decode(each.number, each.bytes);
    if (!step || step->redo || step->inputs.empty()) continue;
    if (std::ranges::all_of(step->inputs, [&](const auto& input) { return impl_->suits(input); }))
      impl_->steps.push_back(std::move(*step));
  }
}

std::span<const std::uint64_t> RunHistory::numbers() const noexcept { return impl_->numbers; }

std::uint32_t RunHistory::size() const noexcept { return static_cast<std::uint32_t>(impl_->of(false).size()); }

std::vector<RunEdit> RunHistory::list(std::uint32_t offset, std::uint32_t limit) const {
  return history::listed(impl_->of(false), {}, offset, limit, impl_->registry.types());
}

std::vector<RunHistory::Mark> RunHistory::marks() const {
  std::vector<Mark> marks;
  for (const history::Step* mark : impl_->of(true)) {
    auto of = std::ranges::find(marks, mark->user, [](const Mark& each) { return each.by.user; });
    if (of == marks.end())
      of = marks.insert(of, {.by = {.session = mark->session, .user = mark->user}, .selection = {}});
    const KeepSelection more = history::selection_of(*mark);
    of->selection.all = of->selection.all || more.all;
    of->selection.steps.insert(of->selection.steps.end(), more.steps.begin(), more.steps.end());
    of->selection.places.insert(of->selection.places.end(), more.places.begin(), more.places.end());
  }
  return marks;
}

std::expected<KeptEdits, std::string> RunHistory::kept(KeepSelection selection, std::uint64_t session) const {
  const auto steps = impl_->of(false);
  if (std::string why = history::find_named(selection, steps); !why.empty()) return std::unexpected(std::move(why));
  if (!history::selects(selection, steps, impl_->registry.types()))
    return std::unexpected(steps.empty() ? "there is no run whose edits could be kept"
                                         : "the last run has no such edits");
  return history::kept_edits(impl_->registry, impl_->of(false), selection, session);
}

void RunHistory::applied(const KeptEdits& edits) {
  // Any step may contain the ids; the first one does.
  if (edits.created.empty() || impl_->steps.empty()) return;
  history::Step& first = impl_->steps.front();
  first.kept_as.insert(first.kept_as.end(), edits.created.begin(), edits.created.end());
  impl_->changed.insert(first.number);
}

void RunHistory::ended() {
  history::find_strangers(impl_->registry, impl_->steps);
  for (const history::Step& step : impl_->steps)
    if (!step.strangers.empty()) impl_->changed.insert(step.number);
}

std::vector<EditHistory::Saved> RunHistory::take_changes() {
  std::vector<EditHistory::Saved> changes;
  for (const history::Step& step : impl_->steps)
    if (impl_->changed.contains(step.number)) changes.push_back({.number = step.number, .bytes = encode(step)});
  impl_->changed.clear();
  return changes;
}

}  // namespace muster
