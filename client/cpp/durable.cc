// Tracks which inputs the server has stored durably.
#include <algorithm>

#include "client/cpp/client_impl.h"

namespace muster {

Result<session::Durable> Client::wait_durable(const Acknowledged& ack) {
  if (ack.epoch == epoch() || std::ranges::find(impl_->earlier_epochs, ack.epoch) != impl_->earlier_epochs.end())
    return wait_durable(ack.sequence);
  return mistaken("sequence " + std::to_string(ack.sequence) +
                  " is from an earlier run of the server: what was not durable when that run ended is lost");
}

Result<session::Durable> Client::wait_durable(std::uint64_t sequence) {
  const auto is_durable = [&] { return impl_->durable && impl_->durable->sequence >= sequence; };
  if (is_durable()) return *impl_->durable;
  // Ask for the current state, because the most recent Durable may have been sent before a Save
  // that has just been answered.
  if (auto asked = ask<session::FollowDurable>(); !asked) return asked;
  const std::uint64_t asked_in = epoch();
  const auto is_other_start = [&] {
    return epoch() != asked_in && std::ranges::find(impl_->earlier_epochs, asked_in) == impl_->earlier_epochs.end();
  };
  const auto comes_no_more = [&] {
    if (is_other_start()) return true;
    const session::Durable& now = *impl_->durable;
    return !now.error.empty() || (now.durability == session::Durability::checkpoint && now.autosave_ns == 0);
  };
  auto pumped = impl_->pump(impl_->deadline(), [&] { return is_durable() || comes_no_more(); });
  if (is_other_start()) return mistaken("the server was started again: what was not durable before is lost");
  if (is_durable()) return *impl_->durable;
  if (!pumped) return std::unexpected(pumped.error());
  const std::string& error = impl_->durable->error;
  return std::unexpected(ClientError{ClientError::Kind::refused,
                                     error.empty()
                                         ? "not durable until the world is saved: this server writes nothing by itself"
                                         : "not durable: " + error,
                                     {}});
}

}  // namespace muster
