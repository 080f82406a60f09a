#include "server/postgres/pg_lease.h"

#include <unistd.h>

#include <array>
#include <utility>

namespace muster {
namespace {

constexpr const char* taking = "taking the lease";
/// The lease is renewed this many times within its length.
constexpr int renewals = 6;

std::string this_owner() {
  std::array<char, 256> host = {};
  (void)::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + " process " + std::to_string(::getpid());
}

std::string end_of(std::chrono::milliseconds length) {
  return "clock_timestamp() + interval '" + std::to_string(length.count()) + " milliseconds'";
}

std::string literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + '\'';
}

}  // namespace

std::expected<std::unique_ptr<PgLease>, WorldError> PgLease::take(const PgAddress& address,
                                                                  std::chrono::milliseconds length,
                                                                  std::chrono::milliseconds patience) {
  auto database = PgDatabase::connect(address, patience);
  if (!database) return std::unexpected(std::move(database.error()));
  std::unique_ptr<PgLease> lease(new PgLease(address, length, std::move(*database)));
  std::string seen;  // the lease of the previous owner
  for (;;) {
    const auto begun = Clock::now();
    auto taken = lease->try_take(seen);
    if (!taken) return std::unexpected(std::move(taken.error()));
    if (*taken) {
      lease->reached_ = begun.time_since_epoch().count();
      break;
    }
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(length / renewals, std::chrono::milliseconds(250)));
  }
  lease->thread_ = std::jthread([self = lease.get()](const std::stop_token& stop) { self->keep_renewing(stop); });
  return lease;
}

std::expected<bool, WorldError> PgLease::try_take(std::string& seen) {
  PgDatabase& database = *database_;
  if (auto begun = database.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", taking); !begun)
    return std::unexpected(std::move(begun.error()));
  const Transaction transaction(database);
  auto row = database.prepare(
      "SELECT epoch, owner, until > clock_timestamp(), CAST(until AS text) FROM lease FOR UPDATE", taking);
  if (!row) return std::unexpected(std::move(row.error()));
  const SqlStep step = row->step();
  if (step == SqlStep::error) return std::unexpected(database.error(taking));
  if (step != SqlStep::row || !row->is_integer(0))
    return std::unexpected(
        WorldError(WorldErrorCode::damaged, address_.shown, "damaged: the table 'lease' has no row"));
  const std::uint64_t epoch = row->integer(0);
  const std::string owner = row->text(1), until = row->text(3);
  const std::string is_held = row->text(2);
  const bool held = !is_held.empty() && is_held[0] == 1;  // a bool in binary
  row->reset();
  if (held) {
    if (!seen.empty() && seen != until)
      return std::unexpected(WorldError(WorldErrorCode::in_use, address_.shown, "in use by " + owner));
    seen = until;
    return false;
  }
  epoch_ = epoch + 1;
  const std::string taken = "UPDATE lease SET epoch = " + std::to_string(epoch_) +
                            ", owner = " + literal(this_owner()) + ", until = " + end_of(length_);
  if (auto done = database.run(taken.c_str(), taking); !done) return std::unexpected(std::move(done.error()));
  if (auto done = database.run("COMMIT", taking); !done) return std::unexpected(std::move(done.error()));
  return true;
}

PgLease::~PgLease() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const std::string ended = "UPDATE lease SET until = clock_timestamp() WHERE epoch = " + std::to_string(epoch_);
  if (!fenced()) (void)database_->run(ended.c_str(), "ending the lease");
}

void PgLease::keep_renewing(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (ending_.wait_for(lock, stop, length_ / renewals, [&] { return stop.stop_requested(); })) return;
    lock.unlock();
    renew();
  }
}

void PgLease::renew() {
  if (fenced()) return;
  if (database_->is_lost() && !database_->connect_again()) return;
  const auto begun = Clock::now();
  auto row = database_->prepare(
      ("UPDATE lease SET until = " + end_of(length_) + " WHERE epoch = " + std::to_string(epoch_) + " RETURNING epoch")
          .c_str(),
      "renewing the lease");
  if (!row) return;
  const SqlStep step = row->step();
  if (step == SqlStep::row) reached_.store(begun.time_since_epoch().count(), std::memory_order_release);
  if (step == SqlStep::done) note_fenced();
}

void PgLease::note_fenced() {
  std::call_once(told_, [this] {
    text_ =
        "another host has taken the world over, after this one could not renew its lease. Nothing is written there "
        "anymore";
    fenced_.store(true, std::memory_order_release);
  });
}

std::string PgLease::check() const {
  return "SELECT 1 / count(*) FROM (SELECT 1 FROM lease WHERE epoch = " + std::to_string(epoch_) +
         " FOR KEY SHARE) AS held";
}

}  // namespace muster
