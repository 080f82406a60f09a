// Lets the server, or other code with threads of its own, use a world's registry: on the world's
// thread, between inputs, around each flush.
#pragma once

namespace muster {

class EntityRegistry;

/// World::next_frame and World::poll make every flush like this, next_frame also while it waits for
/// the next tick:
///
///     for each visitor: before_flush();
///     registry.flush();
///     for each visitor: after_flush(registry);
///
/// Each of the two calls begins with a flush, so that visitors see what the host pushed since the
/// last frame. A visitor may push in before_flush and in after_flush. The server pushes a session's
/// edits in before_flush and answers its questions in after_flush, so a session reads its own
/// writes.
///
/// World::add_visitor and remove_visitor: world's thread, not from inside a visit. World::wake: any
/// thread; a next_frame that sleeps makes one flush as above and goes on waiting. World::commit and
/// try_commit may be called from after_flush.
class FlushVisitor {
 public:
  virtual ~FlushVisitor() = default;
  virtual void before_flush() = 0;
  /// No handler runs; the registry may be read, pushed to and saved.
  virtual void after_flush(EntityRegistry& registry) = 0;
};

}  // namespace muster
