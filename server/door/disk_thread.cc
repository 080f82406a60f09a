#include "server/door/disk_thread.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace muster {

struct DiskThread::State {
  struct Piece {
    std::move_only_function<void()> work, done;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> pieces;
  bool stops = false, ended = false;
};

DiskThread::DiskThread() : state_(std::make_shared<State>()) {}

DiskThread::~DiskThread() {
  if (!thread_.joinable()) return;
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stops = true;
    state_->pieces.clear();
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->ended; });
  }
  ended ? thread_.join() : thread_.detach();
}

void DiskThread::run(std::move_only_function<void()> work, std::move_only_function<void()> done) {
  if (!thread_.joinable()) thread_ = std::thread([state = state_] { serve(*state); });
  const std::lock_guard lock(state_->mutex);
  state_->pieces.push_back({std::move(work), std::move(done)});
  state_->changed.notify_all();
}

void DiskThread::serve(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stops || !state.pieces.empty(); });
    if (state.stops) break;
    State::Piece piece = std::move(state.pieces.front());
    state.pieces.pop_front();
    lock.unlock();
    piece.work();
    lock.lock();
    // `done` refers to objects that exist only until the destructor has begun.
    if (!state.stops) piece.done();
  }
  state.ended = true;
  state.changed.notify_all();
}

}  // namespace muster
