// A world in PostgreSQL (Store): the same rows as in a world file, in a schema with the world's
// name. The lease (pg_lease.h) makes this process its only owner. docs/postgres.md describes what
// survives which failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "server/postgres/pg_address.h"
#include "server/postgres/pg_database.h"
#include "server/postgres/pg_lease.h"
#include "server/world/store/row_store.h"

namespace muster {

struct PgOptions {
  /// Time after which another host may take the world over if this one does not renew its lease.
  /// At least 300 ms.
  std::chrono::milliseconds lease = std::chrono::seconds(10);
  /// Longest time that a call waits for the database, where 0 means a third of the lease. Must be
  /// shorter than the lease, so that a stopped owner does not hold off a new one.
  std::chrono::milliseconds patience = std::chrono::milliseconds(0);
  /// The path to which the names of this machine's files about the world are made. If empty, it is
  /// beside_of(address) in the current folder.
  std::string beside = {};
};

class PgStore final : public RowStore {
 public:
  /// Opens the world at an address (read_pg_address), or creates it without a checkpoint. Waits for
  /// the end of a lease whose owner has died. After an error, the world is unchanged.
  [[nodiscard]] static std::expected<std::unique_ptr<PgStore>, WorldError> open(const std::string& address,
                                                                                const StoreOptions& store = {},
                                                                                const PgOptions& options = {});
  /// Ends the lease. Removes a world that has no checkpoint.
  ~PgStore() override;

  const std::string& beside() const noexcept override { return beside_; }
  /// Fails after a loss of the connection, until a checkpoint has been written.
  [[nodiscard]] std::expected<void, WorldError> append(JournalGroup& group, Merges merges = Merges::at_once) override;
  bool is_as_left() const override;
  [[nodiscard]] std::expected<void, WorldError> still_there() override;
  const std::string* displaced() const noexcept override { return lease_->fenced(); }
  std::string way_on(const std::string& rescued) const override;
  [[nodiscard]] std::expected<std::string, WorldError> rescue(const CheckpointStamp& stamp,
                                                              const Save& save) const override;

  // The database merges by itself.
  bool merge_is_due(MergeAt) const noexcept override { return false; }
  bool is_merging() const noexcept override { return false; }
  Pressure pressure() const noexcept override { return Pressure::none; }
  void begin_merge() noexcept override {}
  void merge_beside() noexcept override {}
  void end_merge() noexcept override {}
  std::uint64_t held_bytes() const noexcept override { return 0; }

  const PgLease& lease() const noexcept { return *lease_; }

 private:
  PgStore(const PgAddress& address, std::string beside, const StoreOptions& store, std::unique_ptr<PgDatabase> database)
      : RowStore(address.shown, store.past_bytes), beside_(std::move(beside)), database_(std::move(database)) {}
  Database* tables() noexcept override { return database_.get(); }
  std::expected<void, WorldError> create() override { return {}; }
  std::expected<void, WorldError> begin_writing(const char* doing) override;
  std::expected<void, WorldError> commit(const char* doing) override;
  std::expected<void, WorldError> settle() override { return {}; }
  void set_mark(std::uint64_t) noexcept override {}
  void wrote(Merges) noexcept override {}
  std::expected<bool, WorldError> is_foreign() override { return !rows_known_; }
  std::expected<void, WorldError> note_read() override;

  std::expected<void, WorldError> make_tables();
  std::expected<void, WorldError> check_tables();
  /// Finds out what was committed before the connection was lost. Must be called in a transaction.
  std::expected<void, WorldError> look_again();
  std::unexpected<WorldError> fenced_error() const;

  std::string beside_;
  std::unique_ptr<PgDatabase> database_;
  std::unique_ptr<PgLease> lease_;
  bool in_doubt_ = false;  // the connection was lost, so the tables may contain more than is known
};

}  // namespace muster
