// Lets code with its own threads, such as the server, use a world's registry on the world thread,
// between inputs, before and after each flush.
#pragma once

namespace muster {

class EntityRegistry;

/// World::next_frame and World::poll perform every flush as follows. next_frame also does so while
/// it waits for the next tick.
///
///     for each visitor: before_flush();
///     registry.flush();
///     for each visitor: after_flush(registry);
///
/// Each of the two functions begins with a flush, so that visitors see what the host has pushed
/// since the last frame. A visitor may push in before_flush and in after_flush. The server pushes a
/// session's edits in before_flush and answers its questions in after_flush, so that a session
/// reads its own writes.
///
/// Call World::add_visitor and remove_visitor on the world thread, but not during a visit.
/// World::wake may be called on any thread; a sleeping next_frame then performs one flush as above
/// and continues to wait. after_flush may call World::commit and try_commit.
class FlushVisitor {
 public:
  virtual ~FlushVisitor() = default;
  virtual void before_flush() = 0;
  /// No handler is running. The registry may be read, pushed to and saved.
  virtual void after_flush(EntityRegistry& registry) = 0;
};

}  // namespace muster
