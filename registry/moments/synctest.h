// Finds handlers that depend on more than the state and the messages, by doing inputs twice.
//
//   Synctest synctest(registry);
//   synctest.begin();                    keeps the state, and begins to record inputs
//   registry.push(Update{.dt = dt});     any inputs
//   synctest.end();                      returns to the state, does the inputs again, and compares
//
// The second time, passes run on a single worker, and sinks, handlers with skip_when_repeated and
// lanes of the inbox are left alone (QuietInputs). Memory from the heap or the stack that a handler
// did not initialize has other bytes the second time, and new objects have addresses in another
// order. If the results differ in any byte that is saved or hashed, the inputs are done twice more,
// and every call of a handler is compared by what it wrote and posted, and how it changed the
// message and managers: the first call that differs belongs to the handler that is named.
//
// A handler that leaves another floating-point mode is named, too. The mode is put back after each
// call while inputs are recorded or done again.
//
//   clock, random numbers, addresses, containers without order, padding, static variables,
//   captured variables, values that depend on the thread: each makes the two results differ
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/builtin.h"

namespace muster {

class EntityRegistry;

/// A result that was not the same the second time.
struct SyncDifference {
  std::uint64_t first_sequence = 0, last_sequence = 0;  ///< the inputs that were done twice
  /// The handler whose call differed first, and its message. Empty if no call differs by itself.
  std::string handler, message;
  /// Other handlers that write what `handler` reads outside the registry
  /// (HandlerOptions::external_reads). They may be the cause if that is not saved.
  std::vector<std::string> beside;
  /// If `handler` is empty: the handler that found the difference already when it was called.
  /// Something changed the value that does not declare this, for example through a pointer.
  std::string finder;
  /// If both are empty: all handlers that declare to write what differs, and all others on
  /// whose results these depend by what they declare.
  std::vector<std::string> suspects, behind;
  /// How the thread computed after a call of `handler`, for example "rounds upward", if that was
  /// another floating-point mode than before the call. Nothing else differs then.
  std::string float_mode;
  /// A value that differs: what that handler wrote, if it wrote any. `entity` is nil if no value
  /// differs; `part` then says what does, for example "the texts".
  Entity entity = {};
  std::string path, component, field;
  std::string first, second;  ///< both values as text; the first is the one of the live inputs
  std::uint64_t values = 0;   ///< number of values that differ
  std::string part;
  /// True if the registry goes on with the first result. False if rows, ids or queues differ: it
  /// then goes on with another one.
  bool goes_on_with_first = true;
  /// Returns everything in one or two sentences.
  std::string text() const;
};

/// Used on the registry's thread, and never inside a handler. Must be destroyed before the
/// registry.
class Synctest {
 public:
  struct Options {
    /// Limit on the memory for recorded inputs and for copies of what they change. If it is
    /// exceeded, these inputs are not compared.
    std::size_t bytes_max = std::size_t{256} << 20;
    /// Called with true before inputs are done again, and with false afterward. Intended for hosts
    /// whose handlers use something outside the registry. May be null.
    std::function<void(bool)> repeats = {};
  };
  explicit Synctest(EntityRegistry& registry);
  Synctest(EntityRegistry& registry, Options options);
  ~Synctest();
  Synctest(const Synctest&) = delete;
  Synctest& operator=(const Synctest&) = delete;

  /// Keeps the state and begins to record inputs. Fails without effect if posted messages wait, or
  /// for the reasons of Moments::keep(). The error is a sentence.
  [[nodiscard]] std::expected<void, std::string> begin();
  /// Ends the recording, does the inputs again and compares. Afterward, the state is the one before
  /// the call, except for its version. Does nothing if begin() was not called. Returns a sentence
  /// if the inputs could not be done again: because posted messages wait, an edit log has recorded
  /// edits of sessions, handlers were added or removed, the state was loaded or replaced, or there
  /// was too much to copy.
  [[nodiscard]] std::expected<std::optional<SyncDifference>, std::string> end();
  bool has_begun() const noexcept;
  /// Returns the number of inputs that were done again so far.
  std::uint64_t repeated() const noexcept;

 private:
  friend class TwinTest;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Names the first difference between two registries that had the same state and handlers and got
/// the same inputs. Unlike with a Synctest, their values are at other addresses, and edits of
/// sessions are compared, too. Used on the registries' thread, outside handlers. Must be destroyed
/// before the registries.
class TwinTest {
 public:
  /// `of_first` is a Synctest of the first registry that does the same inputs twice, or null. It
  /// must outlive this object, begin before it, and end before it. The calls of its repetition are
  /// then compared, which show more than those of several workers.
  TwinTest(EntityRegistry& first, EntityRegistry& second, Synctest* of_first = nullptr);
  ~TwinTest();
  TwinTest(const TwinTest&) = delete;
  TwinTest& operator=(const TwinTest&) = delete;

  /// Begins to record the calls of both, whose states must be the same. At most one of them may
  /// have several workers.
  void begin();
  /// Ends the recording. Returns no value if the states are still the same and no handler left
  /// another floating-point mode. Otherwise, `first` and `second` of the result are the values of
  /// the two registries.
  [[nodiscard]] std::optional<SyncDifference> end();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
