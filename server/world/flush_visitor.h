// Defines an interface through which code with threads of its own, such as the server, can use a
// world's registry. Its functions run on the world thread, between inputs, before and after each
// flush.
#pragma once

namespace muster {

class EntityRegistry;

/// World::next_frame and World::poll perform every flush as follows. next_frame also performs such
/// flushes while it waits for the next tick.
///
///     for each visitor: before_flush();
///     registry.flush();
///     for each visitor: after_flush(registry);
///
/// next_frame and poll begin with a flush, so that visitors see everything that the host has pushed
/// since the previous frame. A visitor may push messages in both before_flush and after_flush. The
/// server pushes a session's edits in before_flush and answers the session's questions in
/// after_flush, so that a session reads its own writes.
///
/// World::add_visitor and World::remove_visitor must be called on the world thread, but not while
/// visitors are being called. World::wake may be called on any thread; it causes a sleeping
/// next_frame to perform one such flush and then continue waiting. after_flush may call
/// World::save and try_save.
class FlushVisitor {
 public:
  virtual ~FlushVisitor() = default;
  virtual void before_flush() = 0;
  /// Called when no handler is running. The implementation may read the registry, save it, and push
  /// messages to it.
  virtual void after_flush(EntityRegistry& registry) = 0;
  /// Called before World::play saves the level. The implementation may push messages, for example
  /// to return ids that it has been granted.
  virtual void epoch_ends() {}
  /// Called when a new epoch has begun (World::epoch), between inputs. If `replaced` is true, the
  /// registry has returned to an earlier state, in which later grants and timers do not exist. The
  /// implementation must not push messages.
  virtual void epoch_began(bool replaced) { (void)replaced; }
};

}  // namespace muster
