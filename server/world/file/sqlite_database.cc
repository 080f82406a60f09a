#include "server/world/file/sqlite_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "server/world/rows/format.h"
#include "system/open_file.h"

namespace muster {
namespace {

constexpr int busy_ms = 2000;  // how long to wait for other connections

/// A statement of SQLite.
class SqliteStatement final : public StatementBody {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  ~SqliteStatement() override { sqlite3_finalize(statement_); }

  void bind(int index, std::uint64_t value) noexcept override {
    bound_ &= sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(value)) == SQLITE_OK;
  }
  void bind(int index, std::span<const std::byte> bytes) noexcept override {
    // A null pointer would bind NULL instead of an empty blob.
    const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
    bound_ &= sqlite3_bind_blob64(statement_, index, data, bytes.size(), SQLITE_STATIC) == SQLITE_OK;
  }
  void bind(int index, std::string_view text) noexcept override {
    const char* data = text.empty() ? "" : text.data();
    bound_ &= sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK;
  }
  void bind_null(int index) noexcept override { bound_ &= sqlite3_bind_null(statement_, index) == SQLITE_OK; }

  SqlStep step() noexcept override {
    if (!bound_) return SqlStep::error;
    switch (sqlite3_step(statement_)) {
      case SQLITE_ROW: return SqlStep::row;
      case SQLITE_DONE: return SqlStep::done;
      default: return SqlStep::error;
    }
  }
  bool run() noexcept override {
    const bool good = step() == SqlStep::done;
    // If the step failed, sqlite3_reset() sets the same error again, so the connection's error can
    // still be read afterwards.
    if (bound_) reset();
    return good;
  }
  void reset() noexcept override {
    sqlite3_reset(statement_);
    bound_ = true;
  }

  bool is_integer(int column) const noexcept override { return type(column) == SQLITE_INTEGER; }
  bool is_blob(int column) const noexcept override { return type(column) == SQLITE_BLOB; }
  bool is_text(int column) const noexcept override { return type(column) == SQLITE_TEXT; }
  bool is_null(int column) const noexcept override { return type(column) == SQLITE_NULL; }
  std::uint64_t integer(int column) const noexcept override {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::span<const std::byte> blob(int column) const noexcept override {
    const void* data = sqlite3_column_blob(statement_, column);
    const int bytes = sqlite3_column_bytes(statement_, column);
    if (data == nullptr || bytes <= 0) return {};
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
  }
  std::string text(int column) const override {
    const unsigned char* data = sqlite3_column_text(statement_, column);
    if (data == nullptr) return {};
    return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  int type(int column) const noexcept { return sqlite3_column_type(statement_, column); }

  sqlite3_stmt* statement_;
  bool bound_ = true;  // true if every binding since the previous reset() succeeded
};

}  // namespace

std::expected<SqliteDatabase, WorldError> SqliteDatabase::begin(const std::string& name, int flags,
                                                                const std::string& vfs, const std::string& shown) {
  SqliteDatabase database;
  database.shown_ = shown;
  const int result = sqlite3_open_v2(name.c_str(), &database.connection_, flags | SQLITE_OPEN_NOMUTEX,
                                     vfs.empty() ? nullptr : vfs.c_str());
  if (database.connection_ == nullptr)
    return std::unexpected(WorldError(WorldErrorCode::io, shown, "SQLite cannot be started: out of memory"));
  sqlite3_extended_result_codes(database.connection_, 1);
  // By default, closing the connection would merge the -wal, but a refused file must keep its -wal.
  database.merge_at_end(false);
  if (result != SQLITE_OK) return std::unexpected(database.error("opening the file"));
  sqlite3_busy_timeout(database.connection_, busy_ms);
  // The file may come from an untrusted source, so code in the file (views, triggers, and the
  // functions that they call) must not run.
  constexpr std::array settings = {
      std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
  for (const auto& [setting, on] : settings) sqlite3_db_config(database.connection_, setting, on, nullptr);
  return database;
}

std::expected<SqliteDatabase, WorldError> SqliteDatabase::open_alone(const std::string& path,
                                                                     const std::string& shown) {
  std::string name = "file:";
  for (const char c : path) {
    static constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#')
      name += {'%', digits[byte >> 4], digits[byte & 15]};
    else
      name += c;
  }
  return begin(name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, {}, shown);
}

std::expected<SqliteDatabase, WorldError> SqliteDatabase::open(const std::string& path, bool create,
                                                               const std::string& vfs, const std::string& shown) {
  // SQLite would make the file readable to everyone.
  if (create) {
    const int file = open_file(path.c_str(), O_RDWR | O_CREAT);
    if (file < 0)
      return std::unexpected(WorldError(errno == ENOSPC ? WorldErrorCode::disk_full : WorldErrorCode::denied, shown,
                                        path + " cannot be created: " + std::strerror(errno)));
    ::close(file);
  }
  auto begun = begin(path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), vfs, shown);
  if (!begun) return begun;
  SqliteDatabase& database = *begun;
  // Do not use mmap. If another program truncated a mapped file, reading it would kill this process
  // with a signal instead of returning an error.
  constexpr const char* pragmas =
      "PRAGMA mmap_size=0; PRAGMA cell_size_check=1; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA "
      "secure_delete=OFF; "
      "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY";
  if (auto done = database.run(pragmas, "opening the file"); !done) return std::unexpected(std::move(done.error()));
  sqlite3_wal_hook(
      database.connection_,
      [](void* to, sqlite3*, const char*, int pages) {
        WalCount& count = *static_cast<WalCount*>(to);
        count.bytes = static_cast<std::uint64_t>(pages) * world_format::page_bytes;
        ++count.commits;
        return SQLITE_OK;
      },
      database.wal_.get());
  database.merge_at_end(true);
  return begun;
}

SqliteDatabase::SqliteDatabase(SqliteDatabase&& other) noexcept
    : Database(),
      connection_(std::exchange(other.connection_, nullptr)),
      blob_(std::exchange(other.blob_, nullptr)),
      wal_(std::exchange(other.wal_, nullptr)),
      shown_(std::move(other.shown_)) {}

SqliteDatabase& SqliteDatabase::operator=(SqliteDatabase&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(blob_, other.blob_);
  std::swap(wal_, other.wal_);
  std::swap(shown_, other.shown_);
  return *this;
}

SqliteDatabase::~SqliteDatabase() { close(); }

void SqliteDatabase::close() noexcept {
  sqlite3_blob_close(std::exchange(blob_, nullptr));
  sqlite3_close_v2(std::exchange(connection_, nullptr));
}

std::expected<void, WorldError> SqliteDatabase::run(const char* sql, const char* doing) {
  if (sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return std::unexpected(error(doing));
  return {};
}

std::expected<Statement, WorldError> SqliteDatabase::prepare(const char* sql, const char* doing) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    return std::unexpected(error(doing));
  return Statement(std::make_unique<SqliteStatement>(statement));
}

namespace {

/// Returns the first word of a table's definition that makes SQLite run an expression or another
/// program's code when the table is checked, or an empty string if there is none.
std::string_view code_in(std::string_view sql) {
  constexpr std::array<std::string_view, 4> words = {"AS", "CHECK", "GENERATED", "VIRTUAL"};
  const auto skip_to = [&](std::string_view end) {
    const std::size_t at = sql.find(end);
    sql.remove_prefix(at == sql.npos ? sql.size() : at + end.size());
  };
  while (!sql.empty()) {
    const char c = sql.front();
    const std::size_t length =
        std::min(sql.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789$"), sql.size());
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      sql.remove_prefix(1);
      const char end = c == '[' ? ']' : c;
      skip_to({&end, 1});
    } else if (sql.starts_with("--")) {
      skip_to("\n");
    } else if (sql.starts_with("/*")) {
      skip_to("*/");
    } else if (length > 0) {
      const std::string word(sql.substr(0, length));
      for (const std::string_view each : words)
        if (sqlite3_stricmp(word.c_str(), each.data()) == 0) return each;
      sql.remove_prefix(length);
    } else {
      sql.remove_prefix(1);
    }
  }
  return {};
}

/// Limit on the steps of SQLite's virtual machine per page of a structure check. A page has at most
/// a thousand rows, each of which takes fewer than 50 steps.
constexpr std::int64_t steps_per_page = 50'000;
constexpr std::int64_t steps_min = 10'000'000;
constexpr int steps_between_looks = 10'000;

}  // namespace

std::expected<void, WorldError> SqliteDatabase::check_structure(const char* doing) {
  const auto refuse = [&](const std::string& what) {
    return std::unexpected(WorldError(WorldErrorCode::damaged, shown_, what));
  };
  // SQLite makes indexes of its own, which have no definition.
  auto others =
      prepare("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'table') AND sql IS NOT NULL", doing);
  if (!others) return std::unexpected(std::move(others.error()));
  for (;;) {
    const SqlStep step = others->step();
    if (step == SqlStep::error) return std::unexpected(error(doing));
    if (step == SqlStep::done) break;
    const std::string type = others->text(0), name = others->text(1), sql = others->text(2);
    if (type == "index")
      return refuse("it has an index that is not Muster's, '" + name +
                    "', which would run with every write. Remove it: DROP INDEX");
    if (std::ranges::find(world_format::tables, name, &world_format::Table::name) != world_format::tables.end())
      continue;
    if (const std::string_view word = code_in(sql); !word.empty())
      return refuse("it has a table that is not Muster's, '" + name + "', which runs code when it is read (" +
                    std::string(word) + "). Remove it: DROP TABLE");
  }
  others->reset();
  auto pages = value("PRAGMA page_count", doing);
  if (!pages) return std::unexpected(std::move(pages.error()));
  std::int64_t left = std::max<std::int64_t>(steps_min, std::strtoll(pages->c_str(), nullptr, 10) * steps_per_page);
  sqlite3_progress_handler(
      connection_, steps_between_looks,
      [](void* steps) {
        std::int64_t& rest = *static_cast<std::int64_t*>(steps);
        rest -= steps_between_looks;
        return rest < 0 ? 1 : 0;
      },
      &left);
  auto verdict = value("PRAGMA quick_check(1)", doing);
  sqlite3_progress_handler(connection_, 0, nullptr, nullptr);
  if (left < 0) return refuse("damaged: checking its structure takes longer than a file of this size needs");
  if (!verdict) return std::unexpected(std::move(verdict.error()));
  if (*verdict == "ok") return {};
  std::ranges::replace(*verdict, '\n', ' ');
  return refuse("damaged: " + *verdict);
}

WorldError SqliteDatabase::error(const char* doing) const {
  const int extended = sqlite3_extended_errcode(connection_);
  std::string said = sqlite3_errmsg(connection_);
  const std::string during = std::string(" while ") + doing;
  switch (extended & 0xff) {
    case SQLITE_FULL: return {WorldErrorCode::disk_full, shown_, "the disk is full" + during};
    case SQLITE_CORRUPT: return {WorldErrorCode::damaged, shown_, "damaged: found" + during + ": " + said};
    case SQLITE_NOTADB: return {WorldErrorCode::not_a_world, shown_, "not a world: " + said};
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {WorldErrorCode::in_use, shown_, "another program holds the database" + during};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH: return {WorldErrorCode::denied, shown_, "access denied" + during + ": " + said};
    case SQLITE_TOOBIG: return {WorldErrorCode::too_large, shown_, "a row is too large" + during};
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return {WorldErrorCode::damaged, shown_, "damaged: found" + during + ": " + said};
    default: {
      const int system = sqlite3_system_errno(connection_);
      if (system == ENOSPC || system == EDQUOT) return {WorldErrorCode::disk_full, shown_, "the disk is full" + during};
      if (system != 0 && (extended & 0xff) == SQLITE_IOERR) said += std::string(": ") + std::strerror(system);
      return {WorldErrorCode::io, shown_,
              "the disk failed" + during + ": " + said + " (SQLite code " + std::to_string(extended) + ")"};
    }
  }
}

std::int64_t SqliteDatabase::last_row() const noexcept { return sqlite3_last_insert_rowid(connection_); }
bool SqliteDatabase::in_transaction() const noexcept { return sqlite3_get_autocommit(connection_) == 0; }

void SqliteDatabase::stop_comparing() noexcept { sqlite3_blob_close(std::exchange(blob_, nullptr)); }

void SqliteDatabase::roll_back() noexcept {
  stop_comparing();
  // A full disk may already have caused a rollback. If this rollback fails, a later rollback or the
  // closing of the connection undoes everything, because nothing has been committed.
  if (in_transaction()) sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteDatabase::forget_pages() noexcept { sqlite3_db_release_memory(connection_); }

bool SqliteDatabase::is_read_only() const noexcept { return sqlite3_db_readonly(connection_, "main") != 0; }

bool SqliteDatabase::is_in_wal_mode() const noexcept {
  sqlite3_file* wal = nullptr;
  return sqlite3_file_control(connection_, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&wal)) ==
             SQLITE_OK &&
         wal != nullptr && wal->pMethods != nullptr;
}

void SqliteDatabase::merge_at_end(bool merge) noexcept {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, merge ? 0 : 1, nullptr);
}

std::optional<std::uint64_t> SqliteDatabase::merge() noexcept {
  int there = -1, merged = -1;
  if (sqlite3_wal_checkpoint_v2(connection_, "main", SQLITE_CHECKPOINT_PASSIVE, &there, &merged) != SQLITE_OK ||
      there < merged)
    return std::nullopt;
  return static_cast<std::uint64_t>(merged) * world_format::page_bytes;
}

std::expected<bool, WorldError> SqliteDatabase::merge_whole(const char* doing) {
  sqlite3_busy_timeout(connection_, 0);
  const int result = sqlite3_wal_checkpoint_v2(connection_, "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  sqlite3_busy_timeout(connection_, busy_ms);
  if (result == SQLITE_BUSY || result == SQLITE_LOCKED) return false;
  if (result != SQLITE_OK) return std::unexpected(error(doing));
  return true;
}

std::expected<void, WorldError> SqliteDatabase::sync_wal(const char* doing) {
  sqlite3_file* wal = nullptr;
  if (sqlite3_file_control(connection_, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&wal)) != SQLITE_OK)
    return std::unexpected(error(doing));
  if (wal == nullptr || wal->pMethods == nullptr)
    return {};  // the file is not in WAL mode, so there is no -wal to read
  const int result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
  if (result == SQLITE_OK) return {};
  // SQLite's connection does not know about this error, so get the errno from the file.
  int system = 0;
  (void)wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &system);
  const std::string during = std::string(" while ") + doing;
  if (system == ENOSPC || system == EDQUOT)
    return std::unexpected(WorldError(WorldErrorCode::disk_full, shown_, "the disk is full" + during));
  std::string said = "the -wal could not be synced";
  if (system != 0) said += std::string(": ") + std::strerror(system);
  return std::unexpected(
      WorldError(WorldErrorCode::io, shown_,
                 "the disk failed" + during + ": " + said + " (SQLite code " + std::to_string(result) + ")"));
}

std::expected<void, WorldError> SqliteDatabase::copy_to(const std::string& path, const std::string& vfs,
                                                        const char* doing) {
  auto copy = open(path, true, vfs, shown_);
  if (!copy) return std::unexpected(std::move(copy.error()));
  sqlite3_backup* const backup = sqlite3_backup_init(copy->connection_, "main", connection_, "main");
  if (backup == nullptr) return std::unexpected(copy->error(doing));
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return std::unexpected(copy->error(doing));
  return {};
}

bool SqliteDatabase::holds(std::int64_t id, std::span<const std::byte> bytes) noexcept {
  // A blob handle is moved from row to row. If the handle could not be moved, or if the row has
  // since been written to, the handle must be reopened.
  if (blob_ == nullptr || sqlite3_blob_reopen(blob_, id) != SQLITE_OK) {
    sqlite3_blob_close(std::exchange(blob_, nullptr));
    if (sqlite3_blob_open(connection_, "main", "state", "bytes", id, 0, &blob_) != SQLITE_OK) {
      sqlite3_blob_close(std::exchange(blob_, nullptr));
      return false;
    }
  }
  if (static_cast<std::size_t>(sqlite3_blob_bytes(blob_)) != bytes.size()) return false;
  std::array<std::byte, 16384> part;
  for (std::size_t at = 0; at < bytes.size(); at += part.size()) {
    const std::size_t length = std::min(part.size(), bytes.size() - at);
    if (sqlite3_blob_read(blob_, part.data(), static_cast<int>(length), static_cast<int>(at)) != SQLITE_OK)
      return false;
    if (std::memcmp(part.data(), bytes.data() + at, length) != 0) return false;
  }
  return true;
}

}  // namespace muster
