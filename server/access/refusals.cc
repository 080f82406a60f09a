#include "server/access/refusals.h"

#include <algorithm>

namespace muster {

void Refusals::forgive(Attempts& attempts, Clock::time_point now) const {
  const auto forgiven = static_cast<std::uint64_t>(std::max<Clock::rep>(0, (now - attempts.last) / forgotten_after));
  attempts.last += forgotten_after * static_cast<std::int64_t>(forgiven);
  attempts.wrong -= static_cast<std::uint32_t>(std::min<std::uint64_t>(forgiven, attempts.wrong));
}

std::chrono::nanoseconds Refusals::wrong_token(const std::string& address, Clock::time_point now) {
  ++untold_tokens_;
  if (by_address_.size() >= addresses_max && !by_address_.contains(address)) {
    for (auto& [known, attempts] : by_address_) forgive(attempts, now);
    std::erase_if(by_address_, [](const auto& known) { return known.second.wrong == 0; });
    if (by_address_.size() >= addresses_max) return delay_max_;  // someone is using many addresses
  }
  Attempts& attempts = by_address_[address];
  if (attempts.wrong > 0) forgive(attempts, now);
  if (attempts.wrong == 0) attempts.last = now;
  constexpr std::uint32_t doublings_max = 20;
  attempts.wrong = std::min(attempts.wrong + 1, free_attempts + doublings_max);
  if (attempts.wrong <= free_attempts) return std::chrono::nanoseconds(0);
  const std::chrono::nanoseconds delay = first_delay * (std::int64_t{1} << (attempts.wrong - free_attempts - 1));
  return std::min(delay, delay_max_);
}

void Refusals::note(const std::string& address, const std::string& why, Clock::time_point now) {
  ++untold_;
  last_line_ = address + ": " + why;
  tell(now);
}

void Refusals::tell(Clock::time_point now) {
  if (untold_ == 0 || (told_ != Clock::time_point{} && now - told_ < told_every)) return;
  told_ = now;
  std::string line = "refused " + last_line_;
  if (untold_ > 1)
    line = "refused " + std::to_string(untold_) + " connections before their Hello was accepted, " +
           std::to_string(untold_tokens_) + " for a wrong token; the last was " + last_line_;
  untold_ = untold_tokens_ = 0;
  if (log_) log_(line);
}

}  // namespace muster
