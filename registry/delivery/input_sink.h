// The interface for journals, replication, and tests. Sinks see every input, in sealed form, before
// it is delivered. Messages that handlers post are not inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "registry/apply/receipt.h"

namespace muster {

enum class InputKind : std::uint8_t { push = 1, post = 2, flush = 3, advance = 4, inbox = 5 };
constexpr std::size_t input_kinds = 6;  ///< the largest InputKind plus one

/// Data that accompanies a batch but is never part of it.
struct Envelope {
  std::uint64_t sequence = 0;  ///< 1, 2, 3, and so on for each registry; saved with it

  /// The session that sent the input, as passed to the inbox lane or to push_batch; 0 if the host
  /// itself sent it. Grants and request numbers belong to sessions.
  std::uint64_t session = 0;
  /// The user responsible for the input, as passed together with the session. A user can outlive a
  /// session and can have several sessions at once, so histories belong to users.
  ///
  /// The value is 0 if there is no numbered user. This is the case for everything that the host
  /// pushes, posts, advances, and grants, for templates that the host defines for itself, and for
  /// sessions that use the host's own token. Messages that handlers post or timers deliver are not
  /// inputs. If there is a user but no session, the host acted on behalf of that user.
  std::uint64_t user = 0;
  std::uint64_t request = 0;  ///< number chosen by the session, or 0 if there is none
  InputKind kind = InputKind::push;
  /// The number of times that the registry resumed a cut cascade between the previous input and
  /// this one. A cascade is cut when the messages that handlers post exceed a limit. Each call to
  /// the registry first resumes such a cascade, even if the call then has no input. A replay must
  /// resume the cascade the same number of times.
  std::uint32_t resumed = 0;
  std::uint32_t drawn = 0;  ///< number of ids that were issued before sinks saw the input

  /// For a post, the number that the next timer would have received, or 0 if unknown. Timers are
  /// numbered when they are posted, and a replay continues from this number.
  std::uint64_t next_timer = 0;
};

/// A cascade that was cut short because its time was over (RegistryOptions::cascade_ns_max), and
/// how far it had come. The other limits on a cascade are not reported, because a replay applies
/// them itself.
struct CascadeCut {
  std::uint64_t sequence = 0;  ///< the input that caused the messages, or that preceded them
  std::uint32_t resumed = 0;   ///< 0, or number of the resumption after that input: 1, 2, and so on
  std::uint32_t run = 0;       ///< number of earlier runs of cascades in that input: an advance has
                               ///< one for each due time
  std::uint64_t messages = 0;  ///< number of messages delivered in this run
};

/// All functions are called on the registry's thread, in the order in which the sinks were added. A
/// sink must not use the registry; if it does, the program is stopped. As an exception, it may
/// remove itself or other sinks (RegistryHost::remove_sink) in any of these functions. The removed
/// sink is not called again, and all others see every input.
class InputSink {
 public:
  virtual ~InputSink() = default;
  /// Called before the input is delivered. `batch` is valid only during the call. It is empty for a
  /// flush and for an input that is replayed without its batch (RegistryHost::replay).
  ///
  /// A sink that cannot accept the input, such as a journal on a full disk, throws an exception. In
  /// that case, the input does not take place: nothing is delivered, its sequence number is given
  /// to the next input, the ids issued for it are taken back, and push, flush, or advance
  /// propagates the exception. Earlier inputs are not affected. A refused post or lane batch
  /// remains at the front of its queue, and sinks see it again at the next push, flush, or advance
  /// (for lanes, at the next flush). A push, or the message of an advance, is dropped, even if a
  /// sink refused a post before it; the caller may push it again. Thus, no sink sees an input
  /// partially or twice.
  virtual void on_input(const Envelope& envelope, std::span<const std::byte> batch) = 0;
  /// Called if the input that this sink saw most recently does not take place because a later sink
  /// threw an exception. Sinks are called in reverse order.
  virtual void on_withdrawn(const Envelope&) noexcept {}
  /// Called after all handlers of the input's own message have run, but before the messages that
  /// they pushed are delivered. The input has already taken place, so this function must not throw.
  virtual void on_receipt(const Envelope&, const Receipt&) noexcept {}
  /// Called after time has cut a cascade short. RegistryHost::replay needs the cuts.
  virtual void on_cut(const CascadeCut&) noexcept {}
  /// Called once for each kind of input when the sink is added. Returns true if on_receipt should
  /// be called for that kind. If no sink wants the receipts of posts, a flush delivers posts in
  /// longer runs. Flushes have no receipt.
  virtual bool wants_receipts(InputKind) const noexcept { return true; }
};

/// Sinks in the order in which they were added. A sink may be removed while the sinks are called.
class SinkList {
 public:
  bool empty() const noexcept { return sinks_.empty(); }
  std::size_t size() const noexcept { return sinks_.size(); }
  InputSink& front() const noexcept { return *sinks_.front(); }
  /// Must not be called while the sinks are called.
  void add(InputSink& sink) { sinks_.push_back(&sink); }
  void remove(const InputSink& sink) noexcept {
    for (std::size_t i = sinks_.size(); i-- > 0;) {
      if (sinks_[i] != &sink) continue;
      sinks_.erase(sinks_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i < next_) --next_;
    }
  }
  /// Calls call(sink) for every sink, in order.
  template <class F>
  void each(F call) {
    for (next_ = 0; next_ < sinks_.size();) call(*sinks_[next_++]);
  }
  /// Like each(), but if a call throws an exception, calls undo(sink) for the sinks before that
  /// one, in reverse order, and propagates the exception.
  template <class F, class Undo>
  void each_or_undo(F call, Undo undo) {
    const InputSink* called = nullptr;
    try {
      each([&](InputSink& sink) {
        called = &sink;
        call(sink);
      });
    } catch (...) {
      while (next_ > 0)
        if (InputSink& sink = *sinks_[--next_]; &sink != called) undo(sink);
      throw;
    }
  }

 private:
  std::vector<InputSink*> sinks_;
  std::size_t next_ = 0;  // place of the sink to be called next
};

}  // namespace muster
