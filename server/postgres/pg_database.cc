#include "server/postgres/pg_database.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>

namespace muster {
namespace {

// Types of columns, by the numbers that PostgreSQL gives them.
constexpr Oid bytea_type = 17, name_type = 19, int8_type = 20, int2_type = 21, int4_type = 23, text_type = 25,
              varchar_type = 1043, numeric_unknown = 705;
constexpr int binary = 1;
constexpr std::size_t sent_at_once = 256u << 10;  // bytes given to libpq before they are sent

/// Replaces the parameters ?1, ?2, ... by $1, $2, ...
std::string with_dollars(const char* sql) {
  std::string text = sql;
  for (std::size_t at = 0; at + 1 < text.size(); ++at)
    if (text[at] == '?' && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0) text[at] = '$';
  return text;
}

std::uint64_t big_endian(std::uint64_t value) noexcept {
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

std::string without_newline(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

/// A statement, its parameters, and the rows that are there.
class PgStatement final : public StatementBody {
 public:
  PgStatement(PgDatabase& database, std::string sql) : database_(database), sql_(std::move(sql)) {}
  PgStatement(const PgStatement&) = delete;
  PgStatement& operator=(const PgStatement&) = delete;
  ~PgStatement() override { reset(); }

  void bind(int index, std::uint64_t value) noexcept override {
    Number& number = numbers_[place(index)];
    value = big_endian(value);
    std::memcpy(number.data(), &value, sizeof value);
    set(index, number.data(), number.size());
  }
  void bind(int index, std::span<const std::byte> bytes) noexcept override {
    set(index, bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void bind(int index, std::string_view text) noexcept override {
    set(index, text.empty() ? "" : text.data(), text.size());
  }
  void bind_null(int index) noexcept override { set(index, nullptr, 0); }

  SqlStep step() noexcept override {
    if (!begun_) {
      begun_ = true;
      if (!begin()) return SqlStep::error;
    }
    row_ = -1;
    for (;;) {
      if (const int next = next_++; current_ && next < PQntuples(current_.get())) {
        row_ = next;
        return SqlStep::row;
      }
      current_.reset();
      next_ = 0;
      if (!kept_.empty()) {
        current_ = std::move(kept_.front());
        kept_.pop_front();
        continue;
      }
      if (database_.reading_ != this) return failed_ ? SqlStep::error : SqlStep::done;
      current_ = database_.next_result();
      if (!current_ || !database_.is_good(current_)) {
        failed_ = failed_ || current_ != nullptr || database_.is_lost();
        database_.end_reading(false);
        current_.reset();
        return failed_ ? SqlStep::error : SqlStep::done;
      }
    }
  }

  bool run() noexcept override {
    if (!database_.pipelined_) {
      const bool good = step() == SqlStep::done;
      reset();
      return good;
    }
    return database_.send(sql_.c_str(), values());
  }

  void reset() noexcept override {
    if (database_.reading_ == this) database_.end_reading(false);
    kept_.clear();
    current_.reset();
    next_ = 0;
    row_ = -1;
    begun_ = failed_ = false;
  }

  bool is_integer(int column) const noexcept override {
    const Oid type = type_of(column);
    return type == int8_type || type == int4_type || type == int2_type;
  }
  bool is_blob(int column) const noexcept override { return type_of(column) == bytea_type; }
  bool is_text(int column) const noexcept override {
    const Oid type = type_of(column);
    return type == text_type || type == varchar_type || type == name_type || type == numeric_unknown;
  }
  bool is_null(int column) const noexcept override {
    return row_ < 0 || PQgetisnull(current_.get(), row_, column) != 0;
  }

  std::uint64_t integer(int column) const noexcept override {
    if (!is_integer(column)) return 0;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(current_.get(), row_, column));
    const int length = PQgetlength(current_.get(), row_, column);
    // The numbers of the tables have 8 bytes; those of functions such as length() may have fewer.
    std::uint64_t value = length > 0 && length < 8 && (bytes[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (int i = 0; i < length; ++i) value = value << 8 | bytes[i];
    return value;
  }
  std::span<const std::byte> blob(int column) const noexcept override {
    if (!is_blob(column)) return {};
    return {reinterpret_cast<const std::byte*>(PQgetvalue(current_.get(), row_, column)),
            static_cast<std::size_t>(PQgetlength(current_.get(), row_, column))};
  }
  std::string text(int column) const override {
    if (is_null(column)) return {};
    if (is_integer(column)) return std::to_string(static_cast<std::int64_t>(integer(column)));
    return {PQgetvalue(current_.get(), row_, column),
            static_cast<std::size_t>(PQgetlength(current_.get(), row_, column))};
  }

 private:
  friend class PgDatabase;
  static constexpr std::size_t parameters_max = 12;
  using Number = std::array<char, 8>;

  static std::size_t place(int index) noexcept { return static_cast<std::size_t>(index - 1); }
  void set(int index, const char* bytes, std::size_t length) noexcept {
    bytes_[place(index)] = bytes;
    lengths_[place(index)] = static_cast<int>(length);
    count_ = std::max(count_, place(index) + 1);
  }
  PgDatabase::Values values() const noexcept {
    return {std::span(bytes_).first(count_), std::span(lengths_).first(count_)};
  }
  Oid type_of(int column) const noexcept { return is_null(column) ? Oid{0} : PQftype(current_.get(), column); }

  bool begin() noexcept {
    database_.end_reading(true);
    const bool sent = database_.send(sql_.c_str(), values());
    if (database_.pipelined_) {
      PgDatabase::Result rows;
      failed_ = !sent || !database_.settle(&rows);
      if (rows) kept_.push_back(std::move(rows));
      return !failed_;
    }
    failed_ = !sent;
    if (!sent) return false;
    PQsetSingleRowMode(database_.connection_);
    database_.reading_ = this;
    return true;
  }

  PgDatabase& database_;
  const std::string sql_;
  std::array<const char*, parameters_max> bytes_ = {};
  std::array<int, parameters_max> lengths_ = {};
  std::array<Number, parameters_max> numbers_ = {};
  std::size_t count_ = 0;
  bool begun_ = false, failed_ = false;
  PgDatabase::Result current_;
  std::deque<PgDatabase::Result> kept_;
  int next_ = 0, row_ = -1;
};

void PgDatabase::Free::operator()(pg_result* result) const noexcept { PQclear(result); }

std::string PgDatabase::quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

std::expected<std::unique_ptr<PgDatabase>, WorldError> PgDatabase::connect(const PgAddress& address,
                                                                           std::chrono::milliseconds patience) {
  std::unique_ptr<PgDatabase> database(new PgDatabase(address, patience));
  if (auto connected = database->connect_again(); !connected) return std::unexpected(std::move(connected.error()));
  return database;
}

PgDatabase::~PgDatabase() { close(); }

void PgDatabase::close() noexcept {
  end_reading(false);
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  pipelined_ = false;
}

bool PgDatabase::is_lost() const noexcept { return connection_ == nullptr; }

std::expected<void, WorldError> PgDatabase::connect_again() {
  close();
  const std::string seconds =
      std::to_string(std::max<std::int64_t>(2, std::chrono::ceil<std::chrono::seconds>(patience_).count()));
  const std::string milliseconds = std::to_string(patience_.count());
  // A transaction whose owner has stopped must not keep its lock on the lease.
  const std::string options = "-c idle_in_transaction_session_timeout=" + milliseconds +
                              " -c standard_conforming_strings=on -c synchronous_commit=on";
  const std::array<const char*, 10> names = {"dbname",
                                             "connect_timeout",
                                             "tcp_user_timeout",
                                             "keepalives_idle",
                                             "application_name",
                                             "client_encoding",
                                             "options",
                                             nullptr,
                                             nullptr,
                                             nullptr};
  const std::array<const char*, 10> values = {address_.connection.c_str(),
                                              seconds.c_str(),
                                              milliseconds.c_str(),
                                              "5",
                                              "muster",
                                              "UTF8",
                                              options.c_str(),
                                              nullptr,
                                              nullptr,
                                              nullptr};
  PGconn* const connection = PQconnectdbParams(names.data(), values.data(), 1);
  if (connection == nullptr)
    return std::unexpected(WorldError(WorldErrorCode::io, address_.shown, "cannot be reached: out of memory"));
  connection_ = connection;
  if (PQstatus(connection) != CONNECTION_OK) {
    const std::string why = without_newline(PQerrorMessage(connection));
    lose(why);
    return std::unexpected(WorldError(WorldErrorCode::io, address_.shown, "cannot be reached: " + why));
  }
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
  PQsetnonblocking(connection, 1);
  failed_ = false;
  state_.clear();
  if (!command(("SET search_path TO " + quoted(address_.world)).c_str())) return std::unexpected(error("connecting"));
  return {};
}

bool PgDatabase::lose(const std::string& why) noexcept {
  if (reading_ != nullptr) std::exchange(reading_, nullptr)->failed_ = true;
  message_ = why;
  state_ = "08006";
  failed_ = true;
  pipelined_ = false;
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  return false;
}

bool PgDatabase::wait(bool to_write) noexcept {
  struct pollfd ready{};
  ready.fd = PQsocket(connection_);
  ready.events = static_cast<short>(POLLIN | (to_write ? POLLOUT : 0));
  const auto until = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const int found = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count()));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return lose(std::strerror(errno));
    if (found == 0) return lose("no answer for " + std::to_string(patience_.count()) + " ms");
    if ((ready.revents & ~POLLOUT) != 0 && PQconsumeInput(connection_) == 0)
      return lose(without_newline(PQerrorMessage(connection_)));
    return true;
  }
}

bool PgDatabase::flush() noexcept {
  unsent_ = 0;
  for (;;) {
    const int left = PQflush(connection_);
    if (left == 0) return true;
    if (left < 0) return lose(without_newline(PQerrorMessage(connection_)));
    // The server must not have to wait until its answers are read.
    if (!wait(true)) return false;
  }
}

PgDatabase::Result PgDatabase::next_result() noexcept {
  while (!is_lost() && PQisBusy(connection_) != 0)
    if (!wait(false)) return {};
  return is_lost() ? Result() : Result(PQgetResult(connection_));
}

bool PgDatabase::is_good(const Result& result) noexcept {
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_SYNC:
    case PGRES_EMPTY_QUERY: return true;
    case PGRES_PIPELINE_ABORTED: return false;  // because of an error that was noted
    default: break;
  }
  if (!failed_) {
    const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    const char* const message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
    state_ = state != nullptr ? state : "";
    message_ = without_newline(message != nullptr ? message : PQerrorMessage(connection_));
    failed_ = true;
  }
  // The server ends a connection after such an error.
  if (PQstatus(connection_) == CONNECTION_BAD) lose(std::string(message_));
  return false;
}

bool PgDatabase::send(const char* sql, const Values& values) noexcept {
  if (is_lost()) return false;
  if (!pipelined_) failed_ = false;
  static constexpr std::array<int, PgStatement::parameters_max> formats = {
      binary, binary, binary, binary, binary, binary, binary, binary, binary, binary, binary, binary};
  if (PQsendQueryParams(connection_, sql, static_cast<int>(values.bytes.size()), nullptr, values.bytes.data(),
                        values.lengths.data(), formats.data(), binary) == 0)
    return lose(without_newline(PQerrorMessage(connection_)));
  for (const int length : values.lengths) unsent_ += static_cast<std::size_t>(length);
  return (pipelined_ && unsent_ < sent_at_once) || flush();
}

bool PgDatabase::settle(Result* rows) noexcept {
  if (is_lost()) return false;
  if (PQpipelineSync(connection_) == 0) return lose(without_newline(PQerrorMessage(connection_)));
  if (!flush()) return false;
  while (!is_lost()) {
    Result result = next_result();
    if (!result) continue;  // the end of one statement's answer
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) break;
    const bool good = is_good(result);
    if (good && rows != nullptr && PQresultStatus(result.get()) == PGRES_TUPLES_OK) *rows = std::move(result);
  }
  return !is_lost() && !failed_;
}

bool PgDatabase::command(const char* sql) noexcept {
  end_reading(true);
  if (!send(sql, {})) return false;
  bool good = true;
  while (const Result result = next_result()) good = is_good(result) && good;
  return good && !is_lost();
}

void PgDatabase::end_reading(bool keep) noexcept {
  PgStatement* const statement = std::exchange(reading_, nullptr);
  if (statement == nullptr) return;
  for (;;) {
    Result result = next_result();
    if (!result) break;
    if (!is_good(result)) statement->failed_ = true;
    if (keep && !statement->failed_) statement->kept_.push_back(std::move(result));
  }
  statement->failed_ = statement->failed_ || is_lost();
}

std::expected<void, WorldError> PgDatabase::begin_writing(const char* doing) {
  end_reading(true);
  failed_ = false;
  if (is_lost() || PQenterPipelineMode(connection_) == 0) return std::unexpected(error(doing));
  pipelined_ = true;
  if (!send("BEGIN", {})) return std::unexpected(error(doing));
  return {};
}

std::expected<void, WorldError> PgDatabase::run(const char* sql, const char* doing) {
  const std::string_view text = sql;
  if (is_lost()) return std::unexpected(error(doing));
  if (text == "BEGIN") {
    // What was read may take a long time to process, such as the inputs of a journal. Such a
    // transaction holds no lock on the lease.
    if (!command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") ||
        !command("SET LOCAL idle_in_transaction_session_timeout = 0"))
      return std::unexpected(error(doing));
  } else if (!pipelined_) {
    if (!command(sql)) return std::unexpected(error(doing));
  } else if (text == "COMMIT") {
    const bool good = send(sql, {}) && settle(nullptr);
    if (!good) return std::unexpected(error(doing));
    PQexitPipelineMode(connection_);
    pipelined_ = false;
  } else if (!send(sql, {})) {
    return std::unexpected(error(doing));
  }
  return {};
}

std::expected<Statement, WorldError> PgDatabase::prepare(const char* sql, const char*) {
  return Statement(std::make_unique<PgStatement>(*this, with_dollars(sql)));
}

WorldError PgDatabase::error(const char* doing) const {
  const std::string during = std::string(" while ") + doing;
  if (state_ == fenced_state)
    return {WorldErrorCode::displaced, address_.shown, "another host has taken the world over" + during};
  if (state_.starts_with("53"))
    return {WorldErrorCode::disk_full, address_.shown,
            "the database is out of space or memory" + during + ": " + message_};
  if (state_.starts_with("42501") || state_.starts_with("28") || state_.starts_with("25006"))
    return {WorldErrorCode::denied, address_.shown, "access denied" + during + ": " + message_};
  if (state_.starts_with("54")) return {WorldErrorCode::too_large, address_.shown, "a row is too large" + during};
  if (state_.starts_with("22") || state_.starts_with("23") || state_.starts_with("42"))
    return {WorldErrorCode::damaged, address_.shown, "damaged: found" + during + ": " + message_};
  if (state_.starts_with("40") || state_.starts_with("55"))
    return {WorldErrorCode::in_use, address_.shown, "another program holds the tables" + during + ": " + message_};
  return {WorldErrorCode::io, address_.shown, "the database failed" + during + ": " + message_};
}

void PgDatabase::roll_back() noexcept {
  end_reading(false);
  if (is_lost()) return;
  if (pipelined_) {
    (void)settle(nullptr);
    if (is_lost()) return;
    PQexitPipelineMode(connection_);
    pipelined_ = false;
  }
  if (PQtransactionStatus(connection_) == PQTRANS_IDLE) return;
  // The error that led here stays the most recent one.
  const std::string state = state_, message = message_;
  (void)command("ROLLBACK");
  if (is_lost()) return;
  state_ = state;
  message_ = message;
}

bool PgDatabase::holds(std::int64_t id, std::span<const std::byte> bytes) noexcept {
  PgStatement statement(*this, "SELECT 1 FROM state WHERE id = $1 AND bytes = $2");
  statement.bind(1, static_cast<std::uint64_t>(id));
  statement.bind(2, bytes);
  return statement.step() == SqlStep::row;
}

}  // namespace muster
