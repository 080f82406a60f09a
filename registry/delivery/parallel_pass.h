// Runs a pass on several workers, with the same results as on a single worker.
//
//   schedule   which handlers conflict, and which may be split             registry/delivery/schedule.h
//   stage      handlers in their order, until one's on_begin must wait for another of them; on_begin,
//              versions and preservers (Storage::touch) run here, on the caller's thread, first
//   task       some rows of one handler in row order, or a branch of the hierarchy, numbered in the
//              order of a single worker; a worker takes the first task that need not wait
//   outbox     one per worker; at the end of the pass, the tasks' messages go to the cascade in the
//              order of the tasks' numbers
//   turn       actions that must happen in order wait for all tasks of lower numbers
//                                                                          registry/handlers/turn.h
//
// A task waits only for tasks with lower numbers, and the unfinished task with the lowest number is
// always running. Therefore, waiting for tasks or for a turn cannot cause a deadlock.
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
#include "registry/observe/log.h"
#include "registry/observe/observer.h"
#include "system/mutex.h"

namespace muster {

class TypesKnown;

/// The parts of the registry that are needed to create the workers' outboxes and spawners.
struct PassParts {
  Storage& storage;
  TypesKnown& types;
  TextTable& texts;
  const TemplateTable& templates;
  std::uint64_t& next_timer;
  const std::uint64_t& now_ns;
  const std::shared_ptr<EntityRegistry*>& self;
  BatchWriter& cascade;
  GameLog& game_log;
  std::span<WorkerCall> calls;  // the workers' current calls, as shown to observers
};

class ParallelPass {
 public:
  /// The executor must have at least two workers. Passes that are expected to take less than
  /// `serial_below_ns` are not spread. If the value is 0, every pass is spread, and is split into
  /// as many tasks as are reasonable for several workers.
  ParallelPass(PassParts parts, Executor& executor, std::uint64_t serial_below_ns);
  ~ParallelPass();

  /// Delivers the message to every matching entity. Sets `called` to true if a handler was called.
  /// Returns false and has no effect if the pass involves less work than spreading it would.
  bool deliver(MessageRoute& route, void* message, bool& called);
  /// Records how long a handler took for its rows in a pass, as an estimate for the next pass.
  static void learn(Handler& handler, std::uint64_t rows, double ns) noexcept;
  static std::uint64_t rows_of(const Handler& handler) noexcept;
  const PassCounters& counters() const noexcept { return counters_; }
  /// Sets the observer that receives the times of tasks at the end of each pass, or null for none.
  void set_observer(Observer* observer) noexcept { observer_ = observer; }

 private:
  struct Worker;
  struct Task {
    std::uint32_t node = 0;
    std::uint32_t first_piece = 0, end_piece = 0;
    std::uint32_t branch = ~0u;                // if set, used instead of pieces
    std::uint32_t rows = 0;                    // number of rows in the pieces
    std::uint32_t worker = 0;                  // the worker that ran the task
    std::size_t first_batch = 0, batches = 0;  // the task's pushed batches, among those of its
                                               // worker
    std::uint64_t begin_ns = 0;
    double ns = 0;        // duration, excluding time spent waiting
    bool turned = false;  // true if the task took its turn
  };
  /// Tasks that may run at the same time. The tasks of a handler are consecutive.
  struct Phase {
    std::uint32_t first = 0, end = 0;
  };
  struct NodeRun {
    bool in_stage = false;
    std::uint32_t behind = 0;  // number of nodes that must join a stage before this one
    std::uint32_t first_task = 0, end_task = 0;
    std::uint32_t phase = 0, end_phase = 0;  // the current phase, and the end of the node's phases
    std::uint32_t waits = 0;                 // number of handlers in the stage that this node waits
                                             // for
    std::uint32_t left = 0;                  // number of unfinished tasks in the phase
  };

  /// True if the handler's rows run one after another in the current pass.
  static bool whole(const PassSchedule::Node& node) noexcept {
    return node.splitting.split == Split::whole || node.in_turn > 0;
  }
  bool worth(PassSchedule& schedule, std::uint64_t& total_rows, double& total_ns);
  /// Finds the nodes that may join the first stage. No other node has to join before them.
  void begin_stages(const PassSchedule& schedule);
  /// Calls the on_begin functions of the nodes that join. Returns false if no nodes are left.
  bool next_stage(const PassSchedule& schedule, bool& called);
  /// Records that a node has joined a stage, so that the nodes waiting for it may join, too.
  void joined(const PassSchedule& schedule, std::uint32_t node);
  void cut(const PassSchedule::Node& node, std::uint32_t number);
  void cut_depths(const Handler& handler, std::uint32_t number, std::uint32_t begin_depth, std::uint32_t end_depth,
                  std::uint32_t tasks);
  void touch(const Handler& handler, const Chunk& chunk, const std::uint16_t* columns);
  bool branches_pay(const Handler& handler, const std::vector<std::uint64_t>& rows_at);
  std::uint32_t tasks_for(double ns, std::uint64_t rows) const noexcept;

  void run_stage(const PassSchedule& schedule);
  void work(std::uint32_t worker);
  /// Shows observers the entity that a worker is processing, if its task has no pieces.
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

  // Data of the current pass. The members are reused to avoid allocations.
  const PassSchedule* schedule_ = nullptr;
  void* message_ = nullptr;
  std::vector<NodeRun> nodes_;
  std::vector<RowsOfChunk> pieces_;
  std::vector<Task> tasks_;
  std::vector<Phase> phases_;
  std::vector<std::uint64_t> rows_at_;  // indexed by depth

  // A min-heap of the nodes whose predecessors have all joined.
  std::vector<std::uint32_t> ready_;
  // Nodes whose predecessors have all joined, but whose on_begin function must wait until the
  // current stage has run.
  std::vector<std::uint32_t> begun_;
  std::vector<std::uint32_t> posters_;  // handlers that post, in order
  std::size_t next_pusher_ = 0;         // the first pusher that has not joined
  std::vector<std::uint32_t> stage_;    // nodes in the stage, ascending
  std::vector<std::uint32_t> ended_;    // nodes whose phases have all ended

  std::uint32_t stage_first_ = 0;  // the first task of the stage; written between stages

  // Data of the current stage.
  Mutex mutex_;
  Condition opened_, turned_;
  std::vector<Phase> open_ MUSTER_GUARDED_BY(
      mutex_);  // a heap, lowest first: tasks that are not taken yet; [first, end) shrinks from the front
  std::vector<std::uint8_t> done_ MUSTER_GUARDED_BY(mutex_);  // indexed by task, starting at
                                                              // stage_first_
  std::uint32_t done_before_ MUSTER_GUARDED_BY(mutex_) = 0;   // number of the first unfinished task
  std::uint32_t untaken_ MUSTER_GUARDED_BY(mutex_) = 0, waiting_ MUSTER_GUARDED_BY(mutex_) = 0,
                         waiting_turn_ MUSTER_GUARDED_BY(mutex_) = 0;
  // Counts events that waiting threads need to know about. The count is also read without the lock.
  std::atomic<std::uint32_t> news_ = 0;
};

}  // namespace muster
