// Defines questions that require seldom work, which cannot be divided into slices. Such a question
// is answered in one or more pieces. Each piece runs as a whole, as soon as Seldom allows it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/questions/inquiry.h"
#include "server/questions/seldom.h"

namespace muster {

/// Must be used only on the world thread.
class SeldomWork : public Inquiry {
 public:
  Progress go_on(Steps& steps) final;

 protected:
  /// `piece_steps` is the number of steps that the session is charged for each piece. 0 means a
  /// whole slice.
  SeldomWork(Asked asked, Seldom& seldom, std::uint64_t piece_steps = 0)
      : asked_(std::move(asked)), seldom_(seldom), piece_steps_(piece_steps) {}

  /// If the next piece cannot be done yet, returns the reason. If it can be done, returns nothing.
  /// The function may also answer the question itself and return `done`.
  virtual std::optional<Progress> waits() {
    if (asked_.has_room(4096)) return std::nullopt;
    return Progress::room;
  }
  /// Does one piece. Returns `done` if the question has been answered, `later` if another piece
  /// remains, or `again` if finish() does the remaining work.
  virtual Progress piece() = 0;
  /// Does the work that remains after the last piece. That work is divided into slices.
  virtual Progress finish(Steps&) { return Progress::done; }
  /// Continues with finish() immediately.
  void skip_pieces() noexcept { pieces_over_ = true; }

  const Asked asked_;

 private:
  Seldom& seldom_;
  const std::uint64_t piece_steps_;
  bool pieces_over_ = false;
};

/// Creates a question that is answered by a single piece of work. `F` is callable as void().
template <class F>
std::unique_ptr<SeldomWork> seldom_once(const Asked& asked, Seldom& seldom, F work) {
  class Work final : public SeldomWork {
   public:
    Work(const Asked& asked, Seldom& seldom, F work) : SeldomWork(asked, seldom), work_(std::move(work)) {}

   private:
    Progress piece() override {
      work_();
      return Progress::done;
    }
    const F work_;
  };
  return std::make_unique<Work>(asked, seldom, std::move(work));
}

}  // namespace muster
