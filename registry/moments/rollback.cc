#include "registry/moments/rollback.h"

#include <algorithm>
#include <utility>

#include "messages/require.h"
#include "registry/entity_registry.h"

namespace muster {

Rollback::Rollback(EntityRegistry& registry, MakeTick make) : Rollback(registry, std::move(make), Options{}) {}
Rollback::Rollback(EntityRegistry& registry, MakeTick make, Options options)
    : registry_(registry), make_(std::move(make)), options_(options), ring_(registry, options.bytes_max) {}
Rollback::~Rollback() = default;

void Rollback::changed(std::uint64_t tick) {
  require(tick > confirmed_, "Rollback::changed: the tick is confirmed, so its inputs cannot change");
  if (tick <= tick_) changed_ = std::min(changed_, tick);
}

void Rollback::confirm(std::uint64_t through) {
  confirmed_ = std::max(confirmed_, through);
  forget();
}

void Rollback::forget() {
  // The moment before the first tick that can still change, or that has to be made again.
  const std::uint64_t needed = std::min(confirmed_ + 1, changed_);
  while (first_ < needed && before_.size() > 1) {
    before_.pop_front();
    ++first_;
  }
  if (!before_.empty()) ring_.forget_before(before_.front());
}

std::expected<void, std::string> Rollback::keep(std::uint64_t tick) {
  auto moment = ring_.keep();
  if (!moment) return std::unexpected("tick " + std::to_string(tick) + " cannot be made: " + moment.error());
  if (before_.empty()) first_ = tick;
  before_.push_back(*moment);
  return {};
}

void Rollback::make(std::uint64_t tick) {
  while (!checksums_.empty() && checksums_.back().tick >= tick) checksums_.pop_back();
  try {
    make_(tick);
  } catch (...) {
    (void)ring_.return_to(before_.back());
    throw;
  }
  if (options_.checksum_every == 0 || tick % options_.checksum_every != 0) return;
  checksums_.push_back({tick, registry_.hash()});
  if (checksums_.size() > options_.checksums_max) checksums_.pop_front();
}

std::expected<void, std::string> Rollback::redo() {
  if (changed_ > tick_) return {};
  const std::uint64_t from = changed_;
  const auto gone = [&](const std::string& why) {
    return std::unexpected("tick " + std::to_string(from) + " cannot be made again: " + why);
  };
  if (from < first_ || from - first_ >= before_.size()) return gone("the moment before it was not kept");
  if (auto returned = ring_.return_to(before_[from - first_]); !returned) return gone(returned.error());
  before_.resize(from - first_ + 1);  // returning does not drop the moment itself
  const QuietInputs quiet(registry_);
  for (std::uint64_t tick = from; tick <= tick_; ++tick) {
    if (tick > from)
      if (auto kept = keep(tick); !kept) return kept;
    make(tick);
    ++redone_;
  }
  changed_ = ~std::uint64_t{0};
  forget();
  return {};
}

std::expected<void, std::string> Rollback::advance() {
  if (must_wait())
    return std::unexpected("the next tick has to wait, because " + std::to_string(tick_ - confirmed_) +
                           " ticks are not confirmed");
  if (auto again = redo(); !again) return again;
  if (auto kept = keep(tick_ + 1); !kept) return kept;
  try {
    make(tick_ + 1);
  } catch (...) {
    before_.pop_back();
    throw;
  }
  ++tick_;
  forget();
  return {};
}

std::optional<std::uint64_t> Rollback::checksum(std::uint64_t tick) const noexcept {
  if (tick > confirmed_ || tick >= changed_) return std::nullopt;
  const auto at = std::ranges::lower_bound(checksums_, tick, {}, &Checksum::tick);
  return at != checksums_.end() && at->tick == tick ? std::optional(at->hash) : std::nullopt;
}

}  // namespace muster
