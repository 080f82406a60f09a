// A question that is being answered, slice by slice, between inputs of the world.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "server/session/server_limits.h"
#include "server/session/session.h"
#include "server/session/steps.h"

namespace muster {

class EntityRegistry;
struct AnswerSources;

/// World thread only. It ends with its answer, or is destroyed between two slices if its session or the server ends.
class Inquiry {
 public:
  enum class Progress {
    done,       ///< it was answered
    again,      ///< the steps are used up
    room,       ///< its answer waits for room in the session's queue, which wakes the desk when there is some
    elsewhere,  ///< it waits for another thread's work, which wakes the desk when it is done
    later,      ///< it does what is done seldom (server/questions/seldom.h), and that is not due yet
  };

  Inquiry() = default;
  virtual ~Inquiry() = default;
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  /// Works until `steps` are used up, or it is done. The world may have changed since the last slice.
  virtual Progress go_on(Steps& steps) = 0;
};

/// Who asked, and what the answer is made from.
struct Asked {
  EntityRegistry& registry;
  const ServerLimits& limits;
  std::shared_ptr<Session> from;
  std::uint64_t request = 0;
  const AnswerSources* sources = nullptr;  ///< what lies beside the registry; handlers that need no more work without

  Session& to() const noexcept { return *from; }
  const AnswerSources& of() const noexcept { return *sources; }
  void fault(const session::Fault& fault) const { from->outgoing->fault(fault, request); }
  template <GeneratedType M>
  void answer(const M& message, std::uint32_t flags = 0) const {
    muster::answer(*from, request, message, flags);
  }
  /// Returns whether an answer of about this size may be queued now. If not, the session's queue wakes the desk when
  /// it may.
  bool has_room(std::size_t bytes) const { return from->outgoing->has_answer_room(bytes); }
};

/// A question that is answered in one go as soon as the session's queue has room for about `answer_bytes`.
/// `F`: void(Steps&).
template <class F>
class Once final : public Inquiry {
 public:
  Once(Asked asked, F answer, std::size_t answer_bytes = 4096)
      : asked_(std::move(asked)), answer_(std::move(answer)), answer_bytes_(answer_bytes) {}
  Progress go_on(Steps& steps) override {
    if (!asked_.has_room(answer_bytes_)) return Progress::room;
    steps.spend_bytes(answer_bytes_);
    answer_(steps);
    return Progress::done;
  }

 private:
  const Asked asked_;
  const F answer_;
  const std::size_t answer_bytes_;
};

template <class F>
std::unique_ptr<Inquiry> once(const Asked& asked, F answer, std::size_t answer_bytes = 4096) {
  return std::make_unique<Once<F>>(asked, std::move(answer), answer_bytes);
}

}  // namespace muster
