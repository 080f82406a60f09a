// Counts and times deliveries while a registry is observed. Delivery checks for an observer once
// per batch and once per handler of a pass, never per row. For single messages, call sites are
// replaced by others that count their calls (HandlerTable::observe_calls).
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messages/batch.h"
#include "messages/type_table.h"
#include "registry/apply/receipt.h"
#include "registry/handlers/handler.h"
#include "registry/observe/figures.h"
#include "registry/observe/trace.h"

namespace muster {

class Observer {
 public:
  Observer(const TypeTable& types, Trace* trace) : types_(types), trace_(trace) {}

  void set_trace(Trace* trace) noexcept { trace_ = trace; }

  // --- handlers ---

  /// Must be called before each batch, and before each pass of a batch. After that, one more call
  /// is counted for each handler that is called for at least one row.
  void next_call() noexcept {
    ++call_;
    single_slices_ = 0;
  }
  void add_rows(const Handler& handler, std::uint64_t rows) {
    if (rows == 0) return;
    Entry& entry = this->entry(handler);
    if (entry.call != call_) {
      entry.call = call_;
      ++entry.figures.calls;
    }
    entry.figures.rows += rows;
  }
  /// Times everything that a handler does with a batch. Has no effect if the observer is null.
  class Scope {
   public:
    Scope(Observer* observer, const Handler& handler) : observer_(observer), handler_(handler) {
      if (observer_) [[unlikely]]
        begin();
    }
    ~Scope() {
      if (observer_) [[unlikely]]
        end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    void begin();
    void end();
    Observer* observer_;
    const Handler& handler_;
    std::uint64_t begin_ns_ = 0, rows_ = 0;
  };
  /// Returns true if a call for a single row should be timed. Must be called before the row is
  /// added. Must not be called within a Scope, which already times the call.
  bool times_single(const Handler& handler);
  void add_single(const Handler& handler, std::uint64_t begin_ns, std::uint64_t end_ns);
  /// Used for passes that are spread over workers. add_ns takes the total time of a handler's
  /// tasks; add_task takes a single task. Workers are numbered from 0.
  void add_ns(const Handler& handler, std::uint64_t ns) { entry(handler).figures.ns += ns; }
  void add_task(const Handler& handler, std::uint32_t worker, std::uint64_t begin_ns, std::uint64_t ns,
                std::uint64_t rows);

  // --- messages ---

  /// Message numbers, or 0 if causes are not recorded.
  struct Chain {
    /// Number of the first message that was delivered; the others follow consecutively.
    std::uint64_t first = 0;
    std::uint64_t cause = 0, last_cause = 0;  ///< causes of the first and the last message
  };
  /// Counts a batch, of which `messages` messages were delivered.
  void add_batch(const BatchView& batch, std::uint64_t messages, const Receipt& receipt, bool from_outside,
                 std::uint64_t begin_ns, const Chain& chain);
  void add_messages(TypeId type, std::uint64_t messages, const Receipt& receipt, bool from_outside,
                    std::uint64_t begin_ns, const Chain& chain);
  void add_carried(TypeId type, std::uint64_t messages) { entry(type).carried += messages; }
  /// Records an input together with everything that it caused.
  void add_input(std::string_view what, std::uint64_t sequence, std::uint64_t begin_ns);

  // --- figures ---

  /// Returns the statistics of handlers, in the order of subscription.
  std::vector<HandlerFigures> handlers() const;
  /// Returns the statistics of message types, in the order in which the types were first delivered.
  const std::vector<MessageFigures>& messages() const noexcept { return messages_; }

 private:
  struct Entry {
    HandlerFigures figures;
    std::uint64_t call = 0;                                        // the most recently counted call
    std::uint64_t singles = 0, timed_singles = 0, singles_ns = 0;  // for calls that cover a single
                                                                   // row
  };
  static constexpr std::uint64_t single_every = 16;
  static constexpr std::uint32_t single_slices_max = 16;  // per batch

  Entry& entry(const Handler& handler);
  MessageFigures& entry(TypeId type);
  void add_slice(const Handler& handler, std::uint16_t track, std::uint64_t begin_ns, std::uint64_t ns,
                 std::uint64_t rows);

  const TypeTable& types_;
  Trace* trace_;
  std::vector<Entry> entries_;  // indexed by ordinal; ordinal 0 if the handler was never called
  std::vector<MessageFigures> messages_;
  std::unordered_map<TypeId, std::size_t> message_of_;
  std::uint64_t call_ = 1;
  std::uint32_t single_slices_ = 0;
  bool in_scope_ = false;
};

}  // namespace muster
