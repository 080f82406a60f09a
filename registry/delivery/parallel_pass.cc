// Only passes are spread over workers, not messages to a single entity, a span, or a line of
// entities. The results are identical to those of a single worker: the state, ids, order, hashes,
// receipts, and pending batches are the same.
//
// - A handler that reads a component from ancestors and also writes it has a barrier after each
//   depth. If depths have few rows each, its tasks are whole branches, unless the handler posts or
//   Changed handlers follow a component that it writes, because posts are ordered across branches.
// - A span parameter always covers a whole chunk. Other handlers can be split at any row.
// - The time that each handler takes per row is measured. A pass runs on the registry's thread if
//   it is expected to take less than pass_serial_below_ns or not to benefit from several workers.
//   If several workers turn out to be slower, passes run on that thread for some time.
#include "registry/delivery/parallel_pass.h"

#include <algorithm>
#include <functional>

#include "registry/delivery/delivery.h"
#include "registry/delivery/look_awhile.h"
#include "registry/handlers/thrown.h"
#include "registry/handlers/types_known.h"
#include "registry/observe/clock.h"
#include "system/mutex.h"

namespace muster {

namespace {

constexpr double task_ns = 20'000;      // minimum task duration; taking a task costs 1% of it
constexpr double barrier_ns = 4'000;    // cost of waiting for each other
constexpr double stage_ns = 8'000;      // cost of waking workers
constexpr double assumed_row_ns = 100;  // used if every pass must be spread
constexpr double branch_row_ns = 4;     // cost of finding a row's branch
constexpr std::uint32_t tasks_per_worker = 32;

}  // namespace

struct alignas(64) ParallelPass::Worker final : Turn {
  Worker(ParallelPass& owner, const PassParts& parts)
      : pass(owner),
        outbox(arena, parts.types, parts.texts, parts.next_timer, parts.now_ns, parts.self),
        spawner(parts.storage, outbox, parts.templates),
        log(parts.game_log),
        context{.storage = parts.storage, .outbox = outbox, .spawner = spawner, .log = &log} {}
  void take() override {
    if (has_turn) return;
    const std::uint64_t begin = steady_ns();
    pass.wait_turn(task);
    waited_ns = ns_since(begin);
    has_turn = true;
  }

  ParallelPass& pass;
  Arena arena;
  Outbox outbox;
  Spawner spawner;
  Log log;
  RunContext context;
  std::vector<std::byte> before;   // old bytes of rows that other handlers follow
  std::vector<BatchView> batches;  // batches in the arena at the end of the pass
  std::uint32_t task = 0;
  bool has_turn = false;
  double waited_ns = 0;
  WorkerCall unseen;
  WorkerCall* call = &unseen;  // where observers see the worker's call, if there is room
};

ParallelPass::ParallelPass(PassParts parts, Executor& executor, std::uint64_t serial_below_ns)
    : parts_(parts), executor_(executor), serial_below_ns_(serial_below_ns) {
  for (std::uint32_t i = 0; i < executor.workers(); ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, parts_));
    if (i < parts_.calls.size()) workers_[i]->call = &parts_.calls[i];
  }
}
ParallelPass::~ParallelPass() = default;

// --- whether ---

std::uint64_t ParallelPass::rows_of(const Handler& handler) noexcept {
  if (handler.once) return 1;
  std::uint64_t rows = 0;
  for (const Archetype* archetype : handler.matched) rows += archetype->rows();
  return rows;
}

void ParallelPass::learn(Handler& handler, std::uint64_t rows, double ns) noexcept {
  if (rows == 0) return;
  const double row = ns / static_cast<double>(rows);
  if (handler.row_ns == 0)
    handler.row_ns = row;
  else  // times of interrupted runs are outliers
    handler.row_ns += (std::min(row, handler.row_ns * 4) - handler.row_ns) / 8;
}

bool ParallelPass::worth(PassSchedule& schedule, std::uint64_t& total_rows, double& total_ns) {
  const auto workers = static_cast<double>(workers_.size());
  double longest = 0;
  for (PassSchedule::Node& node : schedule.nodes) {
    if (node.in_turn > 0) --node.in_turn;
    const std::uint64_t rows = rows_of(*node.handler);
    total_rows += rows;
    const double ns = static_cast<double>(rows) * node.handler->row_ns;
    total_ns += ns;
    double before = 0;
    for (const std::uint32_t earlier : node.earlier) before = std::max(before, schedule.nodes[earlier].done_ns);
    node.done_ns = before + (whole(node) || rows < 2 ? ns : ns / workers);
    longest = std::max(longest, node.done_ns);
  }
  if (serial_below_ns_ == 0) return total_rows > 0;
  if (total_ns < static_cast<double>(serial_below_ns_)) return false;
  if (schedule.serially > 0) {
    --schedule.serially;
    return false;
  }
  return std::max(longest, total_ns / workers) + stage_ns < total_ns * 0.85;
}

std::uint32_t ParallelPass::tasks_for(double ns, std::uint64_t rows) const noexcept {
  const auto workers = static_cast<std::uint32_t>(workers_.size());
  double tasks = serial_below_ns_ == 0 ? 4.0 * workers : std::min(ns / task_ns, 1.0 * tasks_per_worker * workers);
  tasks = std::min(tasks, static_cast<double>(rows));
  return std::max(static_cast<std::uint32_t>(tasks), 1u);
}

// --- cutting ---

void ParallelPass::touch(const Handler& handler, const Chunk& chunk, const std::uint16_t* columns) {
  std::size_t column = 0;
  for (const Term& term : handler.terms) {
    if (term.source != Source::self || !term.value) continue;
    const std::uint16_t slot = columns[column++];
    if (term.access == Access::write && slot != no_column) parts_.storage.touch(const_cast<Chunk&>(chunk), slot);
  }
}

void ParallelPass::cut_depths(const Handler& handler, std::uint32_t number, std::uint32_t begin_depth,
                              std::uint32_t end_depth, std::uint32_t tasks) {
  std::uint64_t rows = 0;
  for (std::uint32_t depth = begin_depth; depth < end_depth; ++depth) rows += rows_at_[depth];
  if (rows == 0) return;
  // A handler that is not split runs row by row in a single task.
  const std::uint64_t per_task = tasks == 1 ? ~std::uint64_t{0} >> 1 : (rows + tasks - 1) / tasks;
  const auto first = static_cast<std::uint32_t>(tasks_.size());
  std::uint64_t taken = 0;
  Task task{.node = number, .first_piece = static_cast<std::uint32_t>(pieces_.size())};
  const auto close = [&] {
    task.end_piece = static_cast<std::uint32_t>(pieces_.size());
    if (task.end_piece == task.first_piece) return;
    task.rows = static_cast<std::uint32_t>(taken);
    tasks_.push_back(task);
    task.first_piece = task.end_piece;
    taken = 0;
  };
  for (std::uint32_t depth = begin_depth; depth < end_depth; ++depth) {
    if (rows_at_[depth] == 0) continue;
    for (const Archetype* archetype : handler.matched) {
      if (depth >= archetype->groups.size()) continue;
      const std::uint16_t* columns = handler.columns(*archetype);
      for (Chunk* chunk : archetype->groups[depth].chunks)
        for (std::uint32_t row = 0; row < chunk->count;) {
          std::uint32_t take = chunk->count - row;
          if (!handler.whole_rows && per_task - taken < take) {
            take = static_cast<std::uint32_t>(per_task - taken);
            if (take > 64) take &= ~std::uint32_t{15};  // so that workers do not share cache lines
          }
          pieces_.push_back({chunk, columns, row, row + take});
          row += take;
          taken += take;
          if (taken + 16 > per_task) close();
        }
    }
  }
  close();
  phases_.push_back({first, static_cast<std::uint32_t>(tasks_.size())});
}

bool ParallelPass::branches_pay(const Handler& handler, const std::vector<std::uint64_t>& rows_at) {
  // The handler's posts must be in row order, even across branches.
  if (handler.pushes || !handler.followed.empty()) return false;
  const bool always = serial_below_ns_ == 0;
  const double row_ns = always ? assumed_row_ns : handler.row_ns;
  const auto workers = static_cast<double>(workers_.size());
  double rows = 0, by_depth = 0;
  for (const std::uint64_t here : rows_at) {
    if (here == 0) continue;
    rows += static_cast<double>(here);
    const double ns = static_cast<double>(here) * row_ns;
    by_depth += std::max(ns / workers, std::min(ns, task_ns)) + barrier_ns;
  }
  const auto jobs = static_cast<std::uint32_t>(4 * workers);
  double by_branch = rows * row_ns / workers * 1.15 + task_ns;
  if (!branches_.fits(parts_.storage, jobs) && !always)
    by_branch += static_cast<double>(parts_.storage.rows()) * branch_row_ns;
  return by_branch < by_depth && branches_.prepare(parts_.storage, jobs);
}

void ParallelPass::cut(const PassSchedule::Node& node, std::uint32_t number) {
  const Handler& handler = *node.handler;
  NodeRun& run = nodes_[number];
  run.first_task = static_cast<std::uint32_t>(tasks_.size());
  run.phase = static_cast<std::uint32_t>(phases_.size());
  if (handler.once) {
    tasks_.push_back({.node = number});
    phases_.push_back({run.first_task, run.first_task + 1});
  } else {
    const std::uint32_t depths = parts_.storage.depths();
    rows_at_.assign(depths, 0);
    std::uint64_t rows = 0;
    for (const Archetype* archetype : handler.matched)
      for (std::uint32_t depth = 0; depth < std::min<std::size_t>(archetype->groups.size(), depths); ++depth) {
        const Group& group = archetype->groups[depth];
        const std::uint16_t* columns = handler.columns(*archetype);
        rows_at_[depth] += group.rows();
        rows += group.rows();
        for (const Chunk* chunk : group.chunks) touch(handler, *chunk, columns);
      }
    const auto ns = [&](std::uint64_t of) { return static_cast<double>(of) * handler.row_ns; };
    if (whole(node)) {
      cut_depths(handler, number, 0, depths, 1);
    } else if (node.splitting.split == Split::rows) {
      cut_depths(handler, number, 0, depths, tasks_for(ns(rows), rows));
    } else if (branches_pay(handler, rows_at_)) {
      for (std::uint32_t depth = 0; depth < branches_.cut(); ++depth)
        cut_depths(handler, number, depth, depth + 1, tasks_for(ns(rows_at_[depth]), rows_at_[depth]));
      const auto first = static_cast<std::uint32_t>(tasks_.size());
      for (std::uint32_t job = 0; job < branches_.jobs(); ++job) tasks_.push_back({.node = number, .branch = job});
      phases_.push_back({first, static_cast<std::uint32_t>(tasks_.size())});
      counters_.branches += branches_.jobs();
    } else {
      // Take one depth at a time, or several together if they have too few rows to be shared among
      // workers.
      for (std::uint32_t depth = 0; depth < depths;) {
        const std::uint32_t begin = depth;
        const std::uint32_t tasks = tasks_for(ns(rows_at_[depth]), rows_at_[depth]);
        ++depth;
        while (tasks == 1 && depth < depths && tasks_for(ns(rows_at_[depth]), rows_at_[depth]) == 1) ++depth;
        cut_depths(handler, number, begin, depth, tasks);
      }
    }
  }
  run.end_task = static_cast<std::uint32_t>(tasks_.size());
  run.end_phase = static_cast<std::uint32_t>(phases_.size());
  if (run.end_phase > run.phase) counters_.barriers += run.end_phase - run.phase - 1;
}

void ParallelPass::begin_stages(const PassSchedule& schedule) {
  ready_.clear();
  begun_.clear();
  posters_.clear();
  next_pusher_ = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const PassSchedule::Node& node = schedule.nodes[i];
    nodes_[i].behind = static_cast<std::uint32_t>(node.earlier.size());
    counters_.steps += 1 + node.earlier.size();
    // A handler that posts must not overtake another handler that posts: it would wait for its turn
    // forever.
    if (node.handler->pushes) {
      if (!posters_.empty()) ++nodes_[i].behind;
      posters_.push_back(i);
    }
    if (nodes_[i].behind == 0) ready_.push_back(i);  // ascending, so a heap
  }
}

void ParallelPass::joined(const PassSchedule& schedule, std::uint32_t number) {
  const auto one_less = [&](std::uint32_t later) {
    ++counters_.steps;
    if (--nodes_[later].behind > 0) return;
    ready_.push_back(later);
    std::ranges::push_heap(ready_, std::greater<>());
  };
  for (const std::uint32_t later : schedule.nodes[number].later) one_less(later);
  if (!schedule.nodes[number].handler->pushes) return;
  if (++next_pusher_ < posters_.size()) one_less(posters_[next_pusher_]);
}

bool ParallelPass::next_stage(const PassSchedule& schedule, bool& called) {
  bool any = false;
  stage_.clear();
  stage_first_ = static_cast<std::uint32_t>(tasks_.size());
  // Nodes that were waiting for the previous stage come first, so that the numbers stay in order.
  ready_.insert(ready_.end(), begun_.begin(), begun_.end());
  begun_.clear();
  std::ranges::make_heap(ready_, std::greater<>());
  while (!ready_.empty()) {
    std::ranges::pop_heap(ready_, std::greater<>());
    const std::uint32_t i = ready_.back();
    ready_.pop_back();
    NodeRun& run = nodes_[i];
    const PassSchedule::Node& node = schedule.nodes[i];
    const Handler& handler = *node.handler;
    counters_.steps += 1 + node.earlier.size();
    // All handlers that this one waits for have joined a stage. However, that may be the current
    // stage, which has not run yet.
    if (handler.options.on_begin &&
        std::ranges::any_of(node.earlier, [&](std::uint32_t earlier) { return nodes_[earlier].in_stage; })) {
      begun_.push_back(i);
      continue;
    }
    any = true;
    bool begins = true;
    if (handler.options.on_begin) {
      running_here() = &handler;
      WorkerCall& here = *workers_[0]->call;
      here.entity = 0;
      here.entities = 0;
      here.handler = &handler;
      begins = guarded(handler, parts_.types, [&] { return handler.options.on_begin(); });
      here.handler = nullptr;
      running_here() = nullptr;
    }
    if (begins) {
      called = true;
      run.in_stage = true;
      stage_.push_back(i);
      cut(node, i);
    }
    joined(schedule, i);
  }
  return any;
}

// --- running ---

void ParallelPass::open(const Phase& phase) {
  open_.push_back(phase);
  std::ranges::push_heap(open_, std::greater<>(), &Phase::first);
}

void ParallelPass::open_next(std::uint32_t number) {
  ended_.assign(1, number);
  while (!ended_.empty()) {
    const std::uint32_t at = ended_.back();
    ended_.pop_back();
    NodeRun& run = nodes_[at];
    if (run.phase < run.end_phase) {
      const Phase& phase = phases_[run.phase];
      run.left = phase.end - phase.first;
      open(phase);
      continue;
    }
    run.in_stage = false;
    for (const std::uint32_t later : schedule_->nodes[at].later) {
      NodeRun& other = nodes_[later];
      ++counters_.steps;
      if (other.in_stage && --other.waits == 0) ended_.push_back(later);
    }
  }
}

std::uint32_t ParallelPass::pick() noexcept {
  if (open_.empty()) return ~0u;
  // All other tasks, taken or not, come after those of the first phase.
  Phase& least = open_.front();
  const std::uint32_t task = least.first++;
  if (least.first == least.end) {
    std::ranges::pop_heap(open_, std::greater<>(), &Phase::first);
    open_.pop_back();
  }
  return task;
}

void ParallelPass::finish(std::uint32_t task) {
  done_[task - stage_first_] = 1;
  while (done_before_ < tasks_.size() && done_[done_before_ - stage_first_]) ++done_before_;
  if (waiting_turn_ > 0) turned_.notify_all();
  NodeRun& run = nodes_[tasks_[task].node];
  const std::size_t open = open_.size();
  if (--run.left == 0) {
    ++run.phase;
    open_next(tasks_[task].node);
  }
  if (waiting_ == 0 || (open_.size() <= open && untaken_ > 0)) return;
  ++news_;
  opened_.notify_all();
}

void ParallelPass::wait_turn(std::uint32_t task) {
  MutexLock lock(mutex_);
  ++counters_.turns;
  ++waiting_turn_;
  while (done_before_ != task) turned_.wait(lock);
  --waiting_turn_;
}

void ParallelPass::rows(const Handler& handler, Worker& worker, Chunk& chunk, std::uint32_t begin, std::uint32_t end,
                        const std::uint16_t* columns) {
  if (handler.followed.empty()) [[likely]]
    handler.rows(worker.context, handler, message_, chunk, begin, end, columns);
  else
    run_followed(worker.context, handler, message_, chunk, begin, end, columns, worker.before, worker.arena);
}

void ParallelPass::run(Task& task, std::uint32_t number, Worker& worker) {
  const Handler& handler = *schedule_->nodes[task.node].handler;
  worker.task = number;
  worker.has_turn = false;
  worker.waited_ns = 0;
  running_here() = &handler;
  turn_here() = &worker;
  if (task.rows != 0) [[likely]] {
    const RowsOfChunk& piece = pieces_[task.first_piece];
    worker.call->entity = piece.chunk->ids()[piece.begin].bits();
    worker.call->entities = task.rows;
  } else {
    show_whom(*worker.call, handler, task);
  }
  worker.call->handler = &handler;
  task.first_batch = worker.arena.batches();
  task.begin_ns = steady_ns();
  guarded(handler, parts_.types, [&] {
    if (handler.once) {
      handler.rows(worker.context, handler, message_, no_chunk(), 0, 1, nullptr);
    } else if (task.branch != ~0u) {
      for (const Branches::Run& run : branches_.runs(task.branch))
        if (const std::uint16_t* columns = handler.columns(*run.chunk->archetype))
          rows(handler, worker, *run.chunk, run.begin, run.end, columns);
    } else {
      RowsAhead ahead;
      for (std::uint32_t i = task.first_piece; i < task.end_piece; ++i) {
        const RowsOfChunk& piece = pieces_[i];
        if (i + 2 < task.end_piece) ask_for_header(*pieces_[i + 2].chunk);
        if (i + 1 < task.end_piece) ask_for_next(worker.context, ahead, handler, piece, pieces_[i + 1]);
        rows(handler, worker, *piece.chunk, piece.begin, piece.end, piece.columns);
        worker.context.ahead = nullptr;
      }
    }
  });
  task.ns = ns_since(task.begin_ns) - worker.waited_ns;
  task.turned = worker.has_turn;
  worker.arena.seal();
  task.batches = worker.arena.batches() - task.first_batch;
  turn_here() = nullptr;
  running_here() = nullptr;
}

void ParallelPass::show_whom(WorkerCall& call, const Handler& handler, const Task& task) const noexcept {
  std::uint32_t rows = 0;
  std::uint64_t first = 0;
  if (task.branch != ~0u)
    for (const Branches::Run& run : branches_.runs(task.branch)) {
      if (!handler.columns(*run.chunk->archetype)) continue;
      if (first == 0) first = run.chunk->ids()[run.begin].bits();
      rows += run.end - run.begin;
    }
  call.entity = first;
  call.entities = rows;
}

void ParallelPass::work(std::uint32_t number) {
  Worker& worker = *workers_[number];
  MutexLock lock(mutex_);
  while (untaken_ > 0) {
    const std::uint32_t task = pick();
    if (task == ~0u) {
      worker.call->handler = nullptr;
      ++waiting_;
      const std::uint32_t seen = news_;
      lock.unlock();
      look_awhile([&] { return news_ != seen; });
      lock.lock();
      while (untaken_ > 0 && open_.empty()) opened_.wait(lock);
      --waiting_;
      continue;
    }
    --untaken_;
    tasks_[task].worker = number;
    lock.unlock();
    run(tasks_[task], task, worker);
    lock.lock();
    finish(task);
  }
  worker.call->handler = nullptr;
}

void ParallelPass::run_stage(const PassSchedule& schedule) {
  const auto tasks = static_cast<std::uint32_t>(tasks_.size()) - stage_first_;
  counters_.tasks += tasks;
  MutexLock lock(mutex_);
  done_.assign(tasks, 0);
  done_before_ = stage_first_;
  untaken_ = tasks;
  open_.clear();
  for (const std::uint32_t i : stage_) {
    const std::vector<std::uint32_t>& earlier = schedule.nodes[i].earlier;
    counters_.steps += 1 + earlier.size();
    nodes_[i].waits = static_cast<std::uint32_t>(
        std::ranges::count_if(earlier, [&](std::uint32_t other) { return nodes_[other].in_stage; }));
  }
  std::erase_if(stage_, [&](std::uint32_t i) { return nodes_[i].waits > 0; });  // opened later
  for (const std::uint32_t i : stage_) open_next(i);
  lock.unlock();
  if (tasks == 0) return;
  const auto workers = std::min(static_cast<std::uint32_t>(workers_.size()), tasks);
  if (workers == 1) return work(0);
  executor_.run(workers, [](void* pass, std::uint32_t i) { static_cast<ParallelPass*>(pass)->work(i); }, this);
}

void ParallelPass::merge() {
  bool any = false;
  for (const auto& worker : workers_) {
    worker->batches.clear();
    if (worker->arena.empty()) continue;
    any = true;
    worker->arena.for_each([&](BatchView batch) { worker->batches.push_back(batch); });
  }
  if (!any) return;
  for (const NodeRun& node : nodes_)
    for (std::uint32_t i = node.first_task; i < node.end_task; ++i) {
      const Task& task = tasks_[i];
      for (std::size_t b = 0; b < task.batches; ++b)
        parts_.cascade.append_messages(workers_[task.worker]->batches[task.first_batch + b]);
    }
  for (const auto& worker : workers_) worker->arena.clear();
}

void ParallelPass::learn_from_tasks(PassSchedule& schedule) const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::uint32_t first = nodes_[i].first_task, end = nodes_[i].end_task;
    if (first == end) continue;
    PassSchedule::Node& node = schedule.nodes[i];
    double ns = 0;
    std::uint32_t turned = 0;
    for (std::uint32_t t = first; t < end; ++t) {
      ns += tasks_[t].ns;
      turned += tasks_[t].turned;
    }
    learn(const_cast<Handler&>(*node.handler), rows_of(*node.handler), ns);
    // If most tasks of a handler wait for all earlier ones, a single task is cheaper. The handler
    // is split again after some time.
    if (serial_below_ns_ > 0 && end - first > 1 && turned * 4 > end - first) node.in_turn = 64;
  }
}

void ParallelPass::tell_observer() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Handler& handler = *schedule_->nodes[i].handler;
    const NodeRun& node = nodes_[i];
    if (node.first_task == node.end_task) continue;
    observer_->add_rows(handler, rows_of(handler));
    double ns = 0;
    for (std::uint32_t t = node.first_task; t < node.end_task; ++t) {
      const Task& task = tasks_[t];
      ns += task.ns;
      std::uint64_t rows = handler.once ? 1 : 0;
      for (std::uint32_t p = task.first_piece; p < task.end_piece; ++p) rows += pieces_[p].end - pieces_[p].begin;
      if (task.branch != ~0u)
        for (const Branches::Run& run : branches_.runs(task.branch))
          if (handler.columns(*run.chunk->archetype)) rows += run.end - run.begin;
      observer_->add_task(handler, task.worker, task.begin_ns, static_cast<std::uint64_t>(task.ns), rows);
    }
    observer_->add_ns(handler, static_cast<std::uint64_t>(ns));
  }
}

bool ParallelPass::deliver(MessageRoute& route, void* message, bool& called) {
  if (!route.schedule) route.schedule = std::make_shared<PassSchedule>(make_schedule(route.active));
  // Keeps the schedule alive: handlers that take their turn may replace the schedule of the route.
  const std::shared_ptr<PassSchedule> keep = route.schedule;
  PassSchedule& schedule = *keep;
  std::uint64_t total_rows = 0;
  double total_ns = 0;
  if (!worth(schedule, total_rows, total_ns)) {
    if (total_rows > 0) ++counters_.alone;
    return false;
  }
  ++counters_.spread;
  const std::uint64_t begin = steady_ns();
  schedule_ = &schedule;
  message_ = message;
  nodes_.assign(schedule.nodes.size(), {});
  tasks_.clear();
  pieces_.clear();
  phases_.clear();
  for (const auto& worker : workers_) {
    worker->arena.set_causes(parts_.cascade.causes());
    worker->arena.set_cause(parts_.cascade.cause());
  }
  begin_stages(schedule);
  while (next_stage(schedule, called)) run_stage(schedule);
  merge();
  learn_from_tasks(schedule);
  if (observer_) [[unlikely]]
    tell_observer();
  if (serial_below_ns_ > 0) {
    // If other programs use the processors, several workers may be slower than one. In that case,
    // stop spreading passes for a while, and for longer each time.
    schedule.gain += (ns_since(begin) / std::max(total_ns, 1.0) - schedule.gain) / 4;
    if (schedule.gain > 1.1) {
      schedule.rest = std::min(std::max(schedule.rest * 2, 8u), 512u);
      schedule.serially = schedule.rest;
      schedule.gain = 0.9;
    } else if (schedule.gain < 0.8) {
      schedule.rest = 0;
    }
  }
  return true;
}

}  // namespace muster
