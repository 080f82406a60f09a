// How the server (and any other neighbour with threads of its own) gets at a world's registry: on the owner's thread,
// between inputs, in step with the inbox.
#pragma once

namespace muster {

class EntityRegistry;

/// World::next_frame makes every flush like this, also while it waits or is paused:
///
///     for each visitor: before_flush();   registry.flush();   for each visitor: after_flush(registry);
///
/// and makes one at its beginning, so that what the host pushed since the last frame is seen. Whoever puts a batch into
/// its lane and then a question into its own queue, and takes that queue in before_flush, answers in after_flush with
/// the batch applied: a session reads its own writes.
///
/// World::add_visitor and remove_visitor: owner's thread, not from inside a visit. World::wake(): any thread; a next_frame
/// that sleeps makes one flush as above and goes on waiting. World::save or commit may be called from after_flush.
class FlushVisitor {
 public:
  virtual ~FlushVisitor() = default;
  virtual void before_flush() = 0;
  /// No handler runs; the registry may be read, pushed to and saved.
  virtual void after_flush(EntityRegistry& registry) = 0;
};

}  // namespace muster
