#include "registry/history/run_history.h"

#include <algorithm>
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
  std::vector<std::pair<Entity, Entity>> created;  // ids in the run and in the level
};

RunHistory::RunHistory(EntityRegistry& registry) : impl_(std::make_unique<Impl>(registry)) {}
RunHistory::~RunHistory() = default;

void RunHistory::load(std::span<const EditHistory::Saved> saved) {
  impl_->steps.clear();
  impl_->numbers.clear();
  impl_->created.clear();
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
  return history::listed(impl_->of(false), {}, offset, limit, history::RowsNow(impl_->registry));
}

std::vector<RunHistory::Mark> RunHistory::marks() const {
  std::vector<Mark> marks;
  for (const history::Step* mark : impl_->of(true))
    marks.push_back({.by = {.session = mark->session, .user = mark->user},
                     .selection = history::selection_of(*mark)});
  return marks;
}

KeptEdits RunHistory::kept(const KeepSelection& selection, std::uint64_t session) const {
  return history::kept_edits(impl_->registry, impl_->of(false), selection, impl_->created, session);
}

void RunHistory::applied(const KeptEdits& edits) {
  impl_->created.insert(impl_->created.end(), edits.created.begin(), edits.created.end());
}

}  // namespace muster
