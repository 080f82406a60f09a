// How the server (and any other neighbour with threads of its own) gets at a world's registry: on the owner's thread,
// between inputs, in step with the inbox.
#pragma once

namespace muster {

class EntityRegistry;

/// World::next_frame and World::poll make every flush like this, next_frame also while it waits for
/// the next tick:
///
///     for each visitor: before_flush();   registry.flush();   for each visitor: after_flush(registry);
///
/// and makes one at its beginning, so that what the host pushed since the last frame is seen. A visitor that takes
/// its queue of questions in before_flush, and answers them in after_flush, answers each after the batches that were put
/// into a lane before it: a session reads its own writes.
///
/// World::add_visitor and remove_visitor: owner's thread, not from inside a visit. World::wake(): any thread; a next_frame
/// that sleeps makes one flush as above and goes on waiting. World::commit and try_commit may be
/// called from after_flush.
class FlushVisitor {
 public:
  virtual ~FlushVisitor() = default;
  virtual void before_flush() = 0;
  /// No handler runs; the registry may be read, pushed to and saved.
  virtual void after_flush(EntityRegistry& registry) = 0;
};

}  // namespace muster
