// The tables of a world in a schema of a PostgreSQL database, by one connection of libpq.
//
//   reading    a statement's rows come one by one; if another statement begins, the rest is kept in memory
//   writing    between BEGIN and COMMIT, statements that return no rows are sent without waiting for
//              their answers (pipeline mode), and COMMIT waits for all of them
//
// Values are sent and received in PostgreSQL's binary formats. No call waits longer than `patience`
// for the server. After that, and after any other loss of the connection, is_lost() is true, and
// every call fails until connect_again() has succeeded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "server/postgres/pg_address.h"
#include "server/world/store/database.h"

struct pg_conn;
struct pg_result;

namespace muster {

class PgStatement;

class PgDatabase final : public Database {
 public:
  /// Connects, without any of the world's tables being needed.
  [[nodiscard]] static std::expected<std::unique_ptr<PgDatabase>, WorldError> connect(
      const PgAddress& address, std::chrono::milliseconds patience);
  ~PgDatabase() override;

  const std::string& world() const noexcept { return address_.world; }
  bool is_lost() const noexcept;
  [[nodiscard]] std::expected<void, WorldError> connect_again();

  /// Begins a transaction that writes. Statements that return no rows are not waited for.
  [[nodiscard]] std::expected<void, WorldError> begin_writing(const char* doing);
  /// Runs one command. BEGIN begins a transaction that only reads. COMMIT waits for the answers of
  /// all statements. If it fails and is_lost(), the transaction may have been committed.
  [[nodiscard]] std::expected<void, WorldError> run(const char* sql, const char* doing) override;
  [[nodiscard]] std::expected<Statement, WorldError> prepare(const char* sql, const char* doing) override;
  WorldError error(const char* doing) const override;
  std::int64_t next_row() noexcept override { return ++last_row_; }
  std::int64_t last_row() const noexcept override { return last_row_; }
  /// Rows that are inserted from now on have larger ids.
  void set_last_row(std::int64_t id) noexcept { last_row_ = id; }
  void roll_back() noexcept override;
  void forget_pages() noexcept override {}
  bool holds(std::int64_t id, std::span<const std::byte> bytes) noexcept override;
  void stop_comparing() noexcept override {}
  /// The SQLSTATE of PgLease::check() if the epoch is another.
  static constexpr const char* fenced_state = "22012";
  /// Returns the SQLSTATE of the most recent error, or an empty string.
  const std::string& state() const noexcept { return state_; }
  /// Returns `name` as an identifier in SQL.
  static std::string quoted(const std::string& name);

 private:
  friend class PgStatement;
  struct Free {
    void operator()(pg_result* result) const noexcept;
  };
  using Result = std::unique_ptr<pg_result, Free>;
  /// The parameters of a statement, as libpq takes them.
  struct Values {
    std::span<const char* const> bytes = {};
    std::span<const int> lengths = {};
  };

  PgDatabase(PgAddress address, std::chrono::milliseconds patience)
      : address_(std::move(address)), patience_(patience) {}
  /// Sends a statement. In pipeline mode, its answer is looked at by settle().
  bool send(const char* sql, const Values& values) noexcept;
  /// Waits for the answers of all statements that were sent in pipeline mode. Returns the rows of
  /// the last one that has any. Returns false if one has failed.
  bool settle(Result* rows) noexcept;
  /// Runs one command outside of pipeline mode.
  bool command(const char* sql) noexcept;
  /// Returns the next result, or null if there is none or the connection is lost.
  Result next_result() noexcept;
  /// Sends what libpq still holds. Returns false if the connection is lost.
  bool flush() noexcept;
  /// Waits until the server has sent something, or, if `to_write`, until it takes something.
  bool wait(bool to_write) noexcept;
  /// Returns false, and notes the error, if the result is one.
  bool is_good(const Result& result) noexcept;
  bool lose(const std::string& why) noexcept;
  /// Keeps the rest of the rows of the statement that is being read, or drops them.
  void end_reading(bool keep) noexcept;
  void close() noexcept;

  PgAddress address_;
  std::chrono::milliseconds patience_;
  pg_conn* connection_ = nullptr;
  bool pipelined_ = false;       // in pipeline mode, in which a transaction is
  std::size_t unsent_ = 0;       // bytes given to libpq since the last flush
  bool failed_ = false;          // a statement of this transaction has failed
  std::string state_, message_;  // of the most recent error
  std::string lost_;             // the reason, if the connection is lost
  PgStatement* reading_ = nullptr;
  std::int64_t last_row_ = 0;
};

}  // namespace muster
