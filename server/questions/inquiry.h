// A question that is being answered, slice by slice, between inputs of the world.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "server/questions/steps.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"

namespace muster {

class EntityRegistry;

/// Owner's thread only. It is ended by its answer, or destroyed at any moment between two slices: its session ended, or the
/// server does.
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

/// Who asked, and of what.
struct Asked {
  EntityRegistry& registry;
  const ServerLimits& limits;
  std::shared_ptr<Session> from;
  std::uint64_t request = 0;

  Session& to() const noexcept { return *from; }
  void fault(const session::Fault& fault) const { from->outgoing->fault(fault, request); }
  /// Whether an answer of about so many bytes may be queued now. False: the session's queue wakes the desk when it may.
  bool has_room(std::size_t bytes) const { return from->outgoing->has_answer_room(bytes); }
};

/// A question that is answered at once, as soon as the session's queue has some room.
class Once final : public Inquiry {
 public:
  /// `answer_bytes`: about how much it will queue.
  Once(Asked asked, std::function<void(Steps&)> answer, std::size_t answer_bytes = 4096)
      : asked_(std::move(asked)), answer_(std::move(answer)), answer_bytes_(answer_bytes) {}
  Progress go_on(Steps& steps) override {
    if (!asked_.has_room(answer_bytes_)) return Progress::room;
    steps.spend_bytes(answer_bytes_);
    answer_(steps);
    return Progress::done;
  }

 private:
  Asked asked_;
  std::function<void(Steps&)> answer_;
  std::size_t answer_bytes_;
};

}  // namespace muster
