// Keeps the Faults that answered the edits of a resumable session. If the session is resumed and
// its client sends such an edit again, it gets the same answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "messages/session.h"

namespace muster {

/// Must be used only on the world thread.
class KeptAnswers {
 public:
  /// Keeps an answer, and drops the oldest ones until at most `bytes_max` bytes are kept.
  void keep(std::uint64_t request, const session::Fault& fault, std::size_t bytes_max) {
    kept_.emplace_back(request, fault);
    bytes_ += bytes_of(fault);
    while (bytes_ > bytes_max && !kept_.empty()) {
      bytes_ -= bytes_of(kept_.front().second);
      kept_.pop_front();
    }
  }
  /// Returns null if there is no such answer. Valid until the next call of keep().
  const session::Fault* find(std::uint64_t request) const {
    const auto at = std::ranges::find(kept_, request, &std::pair<std::uint64_t, session::Fault>::first);
    return at == kept_.end() ? nullptr : &at->second;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static std::size_t bytes_of(const session::Fault& fault) {
    return sizeof fault + 64 + fault.text.size() + fault.reason.size() + fault.field.size() + fault.value.size();
  }
  std::deque<std::pair<std::uint64_t, session::Fault>> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace muster
