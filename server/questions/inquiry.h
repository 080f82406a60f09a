// Defines the base class of questions that are answered slice by slice, between inputs of the
// world.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "server/session/seen_now.h"
#include "server/session/server_limits.h"
#include "server/session/session.h"
#include "server/session/steps.h"

namespace muster {

struct AnswerSources;

/// Must be used on the world thread. An inquiry normally ends by answering the question. If the
/// session or the server ends first, the inquiry is destroyed between two slices.
class Inquiry {
 public:
  enum class Progress {
    done,       ///< the question was answered
    again,      ///< the steps are used up
    room,       ///< the session's queue has no room; the queue will wake the desk
    elsewhere,  ///< waiting for another thread; that thread will wake the desk
    later,      ///< waiting until seldom work is due (server/questions/seldom.h)
  };

  Inquiry() = default;
  virtual ~Inquiry() = default;
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  /// Works until the question is answered or `steps` are used up. The world may have changed since
  /// the previous slice.
  virtual Progress go_on(Steps& steps) = 0;
};

/// The sender of a question, and the objects from which the answer is built.
struct Asked {
  EntityRegistry& registry;
  const ServerLimits& limits;
  std::shared_ptr<Session> from;
  std::uint64_t request = 0;
  const AnswerSources* sources = nullptr;    ///< null for questions that need only the registry
  std::uint64_t epoch = 0;                   ///< the epoch in which the session was when it asked
  std::shared_ptr<SeenNow> sight = nullptr;  ///< null if the user may see everything

  Session& to() const noexcept { return *from; }
  /// Returns true if the entity is alive and the user may see it.
  bool sees(Entity e) const { return sight ? sight->sees(e) : registry.alive(e); }
  /// Returns the type, or null if it is unknown or hidden from the user.
  const TypeDescriptor* type(TypeId id) const {
    return sight && !sight->sees(id) ? nullptr : registry.types().find(id);
  }
  const AnswerSources& of() const noexcept { return *sources; }
  /// Returns the number of types that the user may see.
  std::size_t type_count() const { return registry.types().types().size() - (sight ? sight->hidden()->size() : 0); }
  void fault(const session::Fault& fault) const { from->outgoing()->fault(fault, request); }
  template <GeneratedType M>
  void answer(const M& message, std::uint32_t flags = 0) const {
    muster::answer(*from, request, message, flags);
  }
  /// Returns true if an answer of about this size may be queued now. If this function returns
  /// false, the session's queue wakes the desk once there is room.
  bool has_room(std::size_t bytes) const { return from->outgoing()->has_answer_room(bytes); }
};

/// A question that is answered in a single step, as soon as the session's queue has room for about
/// `answer_bytes` bytes. `F` is callable as void(Steps&).
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
