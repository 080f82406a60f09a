// Who sees and sets the clock of the world: GetClock, SetClock, and the ClockStates that sessions are told by themselves.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/world/time/pacer.h"

namespace muster {

/// The clock of the world that a desk stands in. Owner's thread. Where `pace` is null there is none that can be set.
struct ClockHost {
  std::function<Pace()> pace = {};
  std::function<std::expected<void, PaceFault>(const Pace&)> set_pace = {};
  std::function<std::uint64_t()> tick = {};  ///< the last one that was made
  double hz = 0;
};

/// Owner's thread only.
class ClockQuestions {
 public:
  /// `saved_sequence`: of what is in the file; may be null.
  ClockQuestions(const EntityRegistry& registry, ClockHost host, std::function<std::uint64_t()> saved_sequence)
      : registry_(registry), host_(std::move(host)), saved_sequence_(std::move(saved_sequence)) {}

  /// The inquiry of GetClock and SetClock; the question was judged. Null: it is neither.
  std::unique_ptr<Inquiry> begin(const Asked& asked, BatchView question);
  /// Tells those who follow what is new: the newest only, as soon as their queue has room. To be called after each flush, when
  /// questions were worked on.
  void tell();
  /// The session ended.
  void leave(const Session& session);

 private:
  session::ClockState state() const;
  /// Counts what has changed by itself: a run of steps is over, somebody saved, the host set the clock.
  void notice();
  std::uint64_t saved_sequence() const { return saved_sequence_ ? saved_sequence_() : 0; }
  void get(const Asked& asked, bool follow);
  void set(const Asked& asked, const session::SetClock& what);

  Pace pace() const { return host_.pace ? host_.pace() : Pace{}; }

  const EntityRegistry& registry_;
  const ClockHost host_;
  const std::function<std::uint64_t()> saved_sequence_;
  Followers followers_;
  Pace pace_;  // as followers know it
  std::uint64_t author_ = 0, saved_ = 0;
};

}  // namespace muster
