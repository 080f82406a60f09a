// The tables of a world, wherever they are stored. Statements are written so that each database
// understands them: parameters are ?1, ?2, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/world/store/world_error.h"

namespace muster {

enum class SqlStep : std::uint8_t { row, done, error };

/// A prepared statement of one database. See Statement.
class StatementBody {
 public:
  virtual ~StatementBody() = default;
  virtual void bind(int index, std::uint64_t value) noexcept = 0;
  virtual void bind(int index, std::span<const std::byte> bytes) noexcept = 0;
  virtual void bind(int index, std::string_view text) noexcept = 0;
  virtual void bind_null(int index) noexcept = 0;
  virtual SqlStep step() noexcept = 0;
  virtual bool run() noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual bool is_integer(int column) const noexcept = 0;
  virtual bool is_blob(int column) const noexcept = 0;
  virtual bool is_text(int column) const noexcept = 0;
  virtual bool is_null(int column) const noexcept = 0;
  virtual std::uint64_t integer(int column) const noexcept = 0;
  virtual std::span<const std::byte> blob(int column) const noexcept = 0;
  virtual std::string text(int column) const = 0;
};

/// A prepared statement. Must be destroyed before its Database. Column values remain valid until
/// the next call to step() or reset().
class Statement {
 public:
  Statement() = default;
  explicit Statement(std::unique_ptr<StatementBody> body) noexcept : body_(std::move(body)) {}

  explicit operator bool() const noexcept { return body_ != nullptr; }
  /// Binds a value. Indices start at 1. `bytes` and `text` must remain valid until reset().
  Statement& bind(int index, std::uint64_t value) noexcept {
    body_->bind(index, value);
    return *this;
  }
  Statement& bind(int index, std::span<const std::byte> bytes) noexcept {
    body_->bind(index, bytes);
    return *this;
  }
  Statement& bind(int index, std::string_view text) noexcept {
    body_->bind(index, text);
    return *this;
  }
  Statement& bind_null(int index) noexcept {
    body_->bind_null(index);
    return *this;
  }
  SqlStep step() noexcept { return body_->step(); }
  /// Runs a statement that returns no rows, and resets it. A database may run it later, but before
  /// the commit of the transaction, which then fails if the statement does.
  bool run() noexcept { return body_->run(); }
  void reset() noexcept { body_->reset(); }

  bool is_integer(int column) const noexcept { return body_->is_integer(column); }
  bool is_blob(int column) const noexcept { return body_->is_blob(column); }
  bool is_text(int column) const noexcept { return body_->is_text(column); }
  bool is_null(int column) const noexcept { return body_->is_null(column); }
  std::uint64_t integer(int column) const noexcept { return body_->integer(column); }
  std::span<const std::byte> blob(int column) const noexcept { return body_->blob(column); }
  std::string text(int column) const { return body_->text(column); }

 private:
  std::unique_ptr<StatementBody> body_;
};

/// A database connection. It may be used by only one thread at a time.
class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  [[nodiscard]] virtual std::expected<void, WorldError> run(const char* sql, const char* doing) = 0;
  [[nodiscard]] virtual std::expected<Statement, WorldError> prepare(const char* sql, const char* doing) = 0;
  /// Returns the first column of the first row as text, or an empty string if there is no row.
  [[nodiscard]] std::expected<std::string, WorldError> value(const char* sql, const char* doing) {
    auto statement = prepare(sql, doing);
    if (!statement) return std::unexpected(std::move(statement.error()));
    switch (statement->step()) {
      case SqlStep::row: return statement->text(0);
      case SqlStep::done: return std::string();
      case SqlStep::error: break;
    }
    return std::unexpected(error(doing));
  }
  /// Returns a message about this connection's most recent error, for example "the disk is full
  /// while writing a checkpoint".
  virtual WorldError error(const char* doing) const = 0;
  /// Returns the id with which the next row of `state` must be inserted, or 0 if the database
  /// chooses it. Then it must be inserted with NULL.
  virtual std::int64_t next_row() noexcept = 0;
  /// Returns the id of the row that was inserted last.
  virtual std::int64_t last_row() const noexcept = 0;
  virtual void roll_back() noexcept = 0;
  /// Frees copies of what was written. The database reads it again when it needs it.
  virtual void forget_pages() noexcept = 0;
  /// Returns true if the row of `state` with the given `id` is known to contain exactly `bytes`.
  /// May use resources that are freed by stop_comparing().
  virtual bool holds(std::int64_t id, std::span<const std::byte> bytes) noexcept = 0;
  /// Must be called before a commit.
  virtual void stop_comparing() noexcept = 0;

 protected:
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;
};

/// Rolls back the caller's transaction on destruction, unless the transaction has already ended.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { database_.roll_back(); }

 private:
  Database& database_;
};

}  // namespace muster
