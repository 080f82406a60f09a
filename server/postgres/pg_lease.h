// Keeps the lease of a world in PostgreSQL: the row of the table `lease` that says who owns the
// world (owner), since which takeover (epoch), and until when by the database's clock (until).
//
//   a new owner      locks the row FOR UPDATE, waits until the lease has ended, raises the epoch
//   each write       locks the row FOR KEY SHARE with its own epoch, in its own transaction: it
//                    holds off a new owner until it is committed, and fails after a new owner
//   the renewing     sets `until` on a thread and connection of its own; `until` is no part of the
//                    key, so renewing and writing do not wait for each other
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "server/postgres/pg_address.h"
#include "server/postgres/pg_database.h"
#include "server/world/store/world_error.h"

namespace muster {

class PgLease {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes the lease, and renews it until this object is destroyed. If the previous owner has died,
  /// waits until its lease ends. Fails with `in_use` if another owner is alive.
  [[nodiscard]] static std::expected<std::unique_ptr<PgLease>, WorldError> take(const PgAddress& address,
                                                                                std::chrono::milliseconds length,
                                                                                std::chrono::milliseconds patience);
  /// Ends the lease, so that another owner need not wait for its end.
  ~PgLease();
  PgLease(const PgLease&) = delete;
  PgLease& operator=(const PgLease&) = delete;

  std::uint64_t epoch() const noexcept { return epoch_; }
  std::chrono::milliseconds length() const noexcept { return length_; }
  /// If the world has another owner now, returns a message that says so. Otherwise, returns null.
  /// Any thread. The string remains valid as long as this object exists.
  const std::string* fenced() const noexcept { return fenced_.load(std::memory_order_acquire) ? &text_ : nullptr; }
  /// Must be called if a write found that the epoch is another.
  void note_fenced();
  /// Returns the time since the lease was last renewed. Any thread.
  std::chrono::nanoseconds unreached() const noexcept {
    return Clock::now().time_since_epoch() - std::chrono::nanoseconds(reached_.load(std::memory_order_acquire));
  }
  /// Returns the statement that a transaction that writes begins with. It fails with
  /// PgDatabase::fenced_state if the epoch is another.
  std::string check() const;

 private:
  PgLease(PgAddress address, std::chrono::milliseconds length, std::unique_ptr<PgDatabase> database)
      : address_(std::move(address)), length_(length), database_(std::move(database)) {}
  std::expected<bool, WorldError> try_take(std::string& seen);
  void keep_renewing(const std::stop_token& stop);
  void renew();

  PgAddress address_;
  std::chrono::milliseconds length_;
  std::unique_ptr<PgDatabase> database_;  // used by the renewing thread
  std::uint64_t epoch_ = 0;
  std::atomic<std::int64_t> reached_ = 0;
  std::once_flag told_;
  std::string text_;  // written before fenced_
  std::atomic<bool> fenced_ = false;
  std::mutex mutex_;
  std::condition_variable_any ending_;
  std::jthread thread_;  // destroyed first
};

}  // namespace muster
