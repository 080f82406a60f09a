#include "server/edits/text_sweep.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "registry/host.h"
#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"

namespace muster {

bool TextSweep::go_on(std::span<const std::shared_ptr<Session>> sessions) {
  // Leave out empty sets, because each text is looked up in every set.
  std::vector<std::shared_ptr<Seat>> known_texts;
  for (const auto& session : sessions) {
    std::shared_ptr<Seat> seat = session->seat();
    if (!seat->texts_sent.empty() || !seat->texts_told.empty()) known_texts.push_back(std::move(seat));
  }
  const auto known = [&](Text text) {
    return std::ranges::any_of(known_texts, [&](const std::shared_ptr<Seat>& seat) {
      return seat->texts_sent.may_be_known(text.hash) || seat->texts_told.contains(text.hash);
    });
  };
  const std::size_t before = registry_.host().texts().size();
  const std::size_t end = std::min(before, next_ + at_once_);
  std::vector<Text> unneeded;
  for (std::size_t i = next_; i < end; ++i)
    if (const Text text = registry_.host().texts().at(i); !registry_.host().is_host_text(text) && !known(text))
      unneeded.push_back(text);
  if (!unneeded.empty()) registry_.host().drop_texts(unneeded);
  const std::size_t after = registry_.host().texts().size();
  const std::size_t gone = before > after ? before - after : 0;
  dropped_ += gone;
  next_ = end - std::min(end, gone);
  return next_ < after;
}

TextKeeper::TextKeeper(EntityRegistry& registry, const ServerLimits& limits)
    : registry_(registry),
      limits_(limits),
      count_due_(limits.world_texts_max / 2),
      bytes_due_(limits.world_texts_bytes_max / 2) {}

bool TextKeeper::wanted() noexcept {
  return sweep_ || registry_.host().texts().size() > count_due_ || registry_.host().texts().bytes() > bytes_due_;
}

void TextKeeper::go_on(std::span<const std::shared_ptr<Session>> sessions) {
  if (!sweep_) sweep_ = std::make_unique<TextSweep>(registry_);
  if (sweep_->go_on(sessions)) return;
  sweep_.reset();
  const auto due = [](std::uint64_t now, std::uint64_t max) { return std::max(max / 2, now + max / 8); };
  count_due_ = due(registry_.host().texts().size(), limits_.world_texts_max);
  bytes_due_ = due(registry_.host().texts().bytes(), limits_.world_texts_bytes_max);
}

std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::DropTexts&) {
  class Sweeping final : public SeldomWork {
   public:
    explicit Sweeping(const Asked& asked) : SeldomWork(asked, asked.of().seldom), sweep_(asked.registry) {}

   private:
    Progress piece() override {
      if (sweep_.go_on(asked_.of().desk.present())) return Progress::later;
      const EntityRegistry& registry = asked_.registry;
      asked_.answer(session::TextsDropped{
          .sequence = registry.sequence(), .dropped = sweep_.dropped(), .left = registry.host().texts().size()});
      return Progress::done;
    }

    TextSweep sweep_;
  };
  return std::make_unique<Sweeping>(asked);
}

}  // namespace muster
