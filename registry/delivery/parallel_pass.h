// A pass on several workers, with the results of one.
//
//   schedule   which handlers conflict, which may be split                       registry/delivery/schedule.h
//   stage      handlers in their order, until one's on_begin must wait for another of them; on_begin, change versions and
//              column copies (Storage::touch) are done here, on the caller's thread, before the stage runs
//   task       some rows of one handler in row order, or a branch of the hierarchy, numbered in the order that one worker
//              would do them; a worker takes the first task that waits for nobody
//   outbox     one per worker; what tasks wrote goes to the cascade in the order of their numbers, at the end of the pass
//   turn       what must happen in order at once waits for all tasks of lesser numbers     registry/handlers/turn.h
//
// A task waits only for tasks of lesser numbers, and the least one that is not done is always being worked on: so neither
// waiting for others nor for one's turn can go in a circle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "messages/arena.h"
#include "registry/apply/outbox.h"
#include "registry/delivery/branches.h"
#include "registry/delivery/executor.h"
#include "registry/delivery/schedule.h"
#include "registry/handlers/ask_ahead.h"
#include "registry/handlers/handler_table.h"
#include "registry/handlers/turn.h"
#include "registry/observe/observer.h"
#include "system/mutex.h"

namespace muster {

class TypesKnown;

/// What a worker's outbox and spawner are made from: the registry's own parts.
struct PassParts {
  Storage& storage;
  TypesKnown& types;
  TextTable& texts;
  const TemplateTable& templates;
  std::uint64_t& next_timer;
  const std::uint64_t& now_ns;
  const std::shared_ptr<EntityRegistry*>& self;
  const EntityRegistry& registry;
  BatchWriter& cascade;
  std::span<WorkerCall> calls;  // by worker, as far as there is room: what it does, for others to look at
};

class ParallelPass {
 public:
  /// The executor has at least two workers. `serial_below_ns`: what a pass must be expected to take to be spread; 0: every
  /// pass is, in as many tasks as make sense for several workers.
  ParallelPass(PassParts parts, Executor& executor, std::uint64_t serial_below_ns);
  ~ParallelPass();

  /// Delivers to everyone who matches; `called` is set where a handler was called. False, and nothing done: the pass is
  /// lighter than the work of spreading it.
  bool deliver(MessageRoute& route, void* message, bool& called);
  /// What a handler took for its rows of a pass, so that the next one is judged by it.
  static void learn(Handler& handler, std::uint64_t rows, double ns) noexcept;
  static std::uint64_t rows_of(const Handler& handler) noexcept;
  const PassCounters& counters() const noexcept { return counters_; }
  /// Told what tasks did, at the end of a pass; null: nobody is.
  void set_observer(Observer* observer) noexcept { observer_ = observer; }

 private:
  struct Worker;
  struct Task {
    std::uint32_t node = 0;
    std::uint32_t first_piece = 0, end_piece = 0;
    std::uint32_t branch = ~0u;                // instead of pieces
    std::uint32_t rows = 0;                    // in the pieces
    std::uint32_t worker = 0;                  // which worker did it
    std::size_t first_batch = 0, batches = 0;  // of what it pushed, among the worker's
    std::uint64_t begin_ns = 0;
    double ns = 0;        // without waiting
    bool turned = false;  // it took its turn
  };
  /// Tasks that may run at the same time; those of one handler follow one another.
  struct Phase {
    std::uint32_t first = 0, end = 0;
  };
  struct NodeRun {
    bool in_stage = false;
    std::uint32_t behind = 0;  // so many must have joined a stage before it may
    std::uint32_t first_task = 0, end_task = 0;
    std::uint32_t phase = 0, end_phase = 0;  // the one that runs, and the end of its phases
    std::uint32_t waits = 0;                 // for so many handlers of the stage
    std::uint32_t left = 0;                  // tasks of the phase that are not done
  };

  /// Whether the handler's rows go one after another in this pass.
  static bool whole(const PassSchedule::Node& node) noexcept {
    return node.splitting.split == Split::whole || node.in_turn > 0;
  }
  bool worth(PassSchedule& schedule, std::uint64_t& total_rows, double& total_ns);
  /// Before the first stage: which nodes may join it, as far as others are concerned.
  void begin_stages(const PassSchedule& schedule);
  /// Calls on_begin of those that join. False where nobody is left.
  bool next_stage(const PassSchedule& schedule, bool& called);
  /// One that others had to wait for has joined a stage.
  void joined(const PassSchedule& schedule, std::uint32_t node);
  void cut(const PassSchedule::Node& node, std::uint32_t number);
  void cut_depths(const Handler& handler, std::uint32_t number, std::uint32_t begin_depth, std::uint32_t end_depth,
                  std::uint32_t tasks);
  void touch(const Handler& handler, const Chunk& chunk, const std::uint16_t* columns);
  bool branches_pay(const Handler& handler, const std::vector<std::uint64_t>& rows_at);
  std::uint32_t tasks_for(double ns, std::uint64_t rows) const noexcept;

  void run_stage(const PassSchedule& schedule);
  void work(std::uint32_t worker);
  /// Shows others for whom a worker is called whose task has no pieces.
  void show_whom(WorkerCall& call, const Handler& handler, const Task& task) const noexcept;
  void run(Task& task, std::uint32_t number, Worker& worker);
  void rows(const Handler& handler, Worker& worker, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
            const std::uint16_t* columns);
  std::uint32_t pick() noexcept MUSTER_REQUIRES(mutex_);
  void open(const Phase& phase) MUSTER_REQUIRES(mutex_);
  void open_next(std::uint32_t node) MUSTER_REQUIRES(mutex_);
  void finish(std::uint32_t task) MUSTER_REQUIRES(mutex_);
  void wait_turn(std::uint32_t task);
  void merge();
  void learn_from_tasks(PassSchedule& schedule) const;
  void tell_observer();

  PassParts parts_;
  Executor& executor_;
  const std::uint64_t serial_below_ns_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Branches branches_;
  PassCounters counters_;
  Observer* observer_ = nullptr;

  // Of the pass under way; kept for their memory.
  const PassSchedule* schedule_ = nullptr;
  void* message_ = nullptr;
  std::vector<NodeRun> nodes_;
  std::vector<RowsOfChunk> pieces_;
  std::vector<Task> tasks_;
  std::vector<Phase> phases_;
  std::vector<std::uint64_t> rows_at_;  // by depth
  std::vector<std::uint32_t> ready_;    // a heap: nodes that all they wait for have joined, the least first
  std::vector<std::uint32_t> begun_;    // of these, those whose on_begin must wait until this stage has run
  std::vector<std::uint32_t> pushers_;  // handlers that push, in order
  std::size_t next_pusher_ = 0;         // the first of them that has not joined
  std::vector<std::uint32_t> stage_;    // nodes of the stage, ascending
  std::vector<std::uint32_t> ended_;    // nodes whose phases are over

  std::uint32_t stage_first_ = 0;  // the first task of the stage; written between stages
  // Of the stage under way.
  Mutex mutex_;
  Condition opened_, turned_;
  std::vector<Phase> open_ MUSTER_GUARDED_BY(
      mutex_);  // a heap, the least first: tasks nobody has taken; [first, end) shrinks from the front
  std::vector<std::uint8_t> done_ MUSTER_GUARDED_BY(mutex_);  // by task, from stage_first_ on
  std::uint32_t done_before_ MUSTER_GUARDED_BY(mutex_) = 0;   // all tasks before it are done
  std::uint32_t untaken_ MUSTER_GUARDED_BY(mutex_) = 0, waiting_ MUSTER_GUARDED_BY(mutex_) = 0,
                         waiting_turn_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint32_t> news_ = 0;  // counts what those who wait are told; read without the lock too
};

}  // namespace muster
