#include "server/postgres/pg_store.h"

#include <filesystem>
#include <utility>

#include "server/postgres/pg_tables.h"
#include "server/world/file/world_file.h"
#include "server/world/rows/checksum.h"

namespace muster {
namespace {

constexpr const char* opening = "opening the world";
constexpr const char* creating = "creating the world";

/// Returns true if the schema has the table.
std::expected<bool, WorldError> has_table(Database& database, const std::string& schema, std::string_view table) {
  auto found =
      database.prepare("SELECT 1 FROM information_schema.tables WHERE table_schema = ?1 AND table_name = ?2", opening);
  if (!found) return std::unexpected(std::move(found.error()));
  const SqlStep step = found->bind(1, std::string_view(schema)).bind(2, table).step();
  if (step == SqlStep::error) return std::unexpected(database.error(opening));
  return step == SqlStep::row;
}

}  // namespace

std::expected<std::unique_ptr<PgStore>, WorldError> PgStore::open(const std::string& given, const StoreOptions& options,
                                                                  const PgOptions& of) {
  const auto address = read_pg_address(given);
  if (!address)
    return std::unexpected(
        WorldError(WorldErrorCode::missing, shown_pg_address(given), "not an address: " + address.error()));
  std::error_code failure;
  const std::filesystem::path beside =
      std::filesystem::absolute(of.beside.empty() ? beside_of(*address) : of.beside, failure);
  if (failure) return std::unexpected(WorldError(WorldErrorCode::missing, address->shown, failure.message()));
  const std::chrono::milliseconds patience = of.patience.count() > 0 ? of.patience : of.lease / 3;
  auto database = PgDatabase::connect(*address, patience);
  if (!database) return std::unexpected(std::move(database.error()));
  std::unique_ptr<PgStore> store(new PgStore(*address, beside.string(), options, std::move(*database)));
  const auto refuse = [&](WorldErrorCode code, const std::string& detail) {
    return std::unexpected(store->error(code, detail));
  };
  auto exists = has_table(*store->database_, address->world, "lease");
  if (!exists) return std::unexpected(std::move(exists.error()));
  if (*exists && options.mode == OpenMode::create_new)
    return refuse(WorldErrorCode::exists, "exists already; a new world was asked for");
  if (!*exists && options.mode == OpenMode::open_existing) return refuse(WorldErrorCode::missing, "no such world");
  if (!*exists)
    if (auto made = store->make_tables(); !made) return std::unexpected(std::move(made.error()));
  auto lease = PgLease::take(*address, of.lease, patience);
  if (!lease) return std::unexpected(std::move(lease.error()));
  store->lease_ = std::move(*lease);
  if (auto begun = store->database_->run("BEGIN", opening); !begun) return std::unexpected(std::move(begun.error()));
  const Transaction transaction(*store->database_);
  if (auto good = store->check_tables(); !good) return std::unexpected(std::move(good.error()));
  auto meta = read_meta(*store->database_, world_format::version, store->shown_);
  if (!meta) return std::unexpected(std::move(meta.error()));
  store->meta_ = std::move(*meta);
  if (auto good = store->journal_.open(*store->database_, store->meta_, store->shown_); !good)
    return std::unexpected(std::move(good.error()));
  if (auto noted = store->note_read(); !noted) return std::unexpected(std::move(noted.error()));
  return store;
}

PgStore::~PgStore() {
  let_go();
  if (is_new() && lease_ != nullptr && begin_writing("closing the world"))
    // A world that was never saved has no purpose.
    if (database_->run(("DROP SCHEMA " + PgDatabase::quoted(database_->world()) + " CASCADE").c_str(), "closing"))
      (void)commit("closing the world");
}

std::expected<void, WorldError> PgStore::make_tables() {
  PgDatabase& database = *database_;
  FileMeta meta;
  meta.world = new_world_name();
  meta.created = utc_now();
  meta.history = StateDigest{}.text();
  meta.product = "muster " + std::string(world_format::product);
  meta.digest = StateDigest{}.text();
  if (auto begun = database.run("BEGIN READ WRITE", creating); !begun) return begun;
  const Transaction transaction(database);
  const auto run = [&](const std::string& sql) { return database.run(sql.c_str(), creating); };
  if (auto made = run("CREATE SCHEMA " + PgDatabase::quoted(database.world())); !made) {
    const bool exists = database.state() == "42P06" || database.state() == "23505";
    if (!exists) return made;
    return std::unexpected(error(WorldErrorCode::not_a_world,
                                 "not a world: the schema " + database.world() + " exists, and has no table 'lease'"));
  }
  for (const pg_tables::Table& table : pg_tables::tables) {
    const std::string name(table.name);
    if (auto made = run("CREATE TABLE " + name + "(" + std::string(table.columns) + ")"); !made) return made;
    if (!table.large.empty())
      if (auto set = run("ALTER TABLE " + name + " ALTER COLUMN " + std::string(table.large) + " SET STORAGE EXTERNAL");
          !set)
        return set;
    if (!table.also.empty())
      if (auto set = run(std::string(table.also)); !set) return set;
  }
  for (const world_format::SectionName& section : world_format::sections)
    if (auto put = run("INSERT INTO section_names VALUES(" + std::to_string(static_cast<unsigned>(section.section)) +
                       ", '" + section.name + "')");
        !put)
      return put;
  if (auto put = run("INSERT INTO layout VALUES(" + std::to_string(world_format::version) + ")"); !put) return put;
  if (auto put = run("INSERT INTO lease VALUES(1, 0, '', clock_timestamp())"); !put) return put;
  if (auto written = write_meta(database, meta); !written) return written;
  return run("COMMIT");
}

std::expected<void, WorldError> PgStore::check_tables() {
  for (const pg_tables::Table& table : pg_tables::tables) {
    auto there = has_table(*database_, database_->world(), table.name);
    if (!there) return std::unexpected(std::move(there.error()));
    if (!*there)
      return std::unexpected(
          error(WorldErrorCode::damaged, "damaged: the table '" + std::string(table.name) + "' is missing"));
  }
  auto version = database_->value("SELECT max(version) FROM layout", opening);
  if (!version) return std::unexpected(std::move(version.error()));
  if (*version != std::to_string(world_format::version))
    return std::unexpected(error(WorldErrorCode::newer, "its tables have version " + *version));
  return {};
}

std::expected<void, WorldError> PgStore::note_read() {
  auto statement = database_->prepare("SELECT max(id) FROM state", opening);
  if (!statement) return std::unexpected(std::move(statement.error()));
  if (statement->step() != SqlStep::row) return std::unexpected(database_->error(opening));
  database_->set_last_row(static_cast<std::int64_t>(statement->integer(0)));
  return {};
}

std::unexpected<WorldError> PgStore::fenced_error() const {
  return std::unexpected(error(WorldErrorCode::displaced, *displaced()));
}

bool PgStore::is_as_left() const { return displaced() == nullptr && lease_->unreached() < lease_->length() / 3; }

std::expected<void, WorldError> PgStore::still_there() {
  if (displaced()) return fenced_error();
  if (is_as_left()) return {};
  return std::unexpected(error(
      WorldErrorCode::io,
      "cannot be reached for " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(lease_->unreached()).count()) + " ms"));
}

std::expected<void, WorldError> PgStore::begin_writing(const char* doing) {
  if (database_->state() == PgDatabase::fenced_state) lease_->note_fenced();
  if (displaced()) return fenced_error();
  if (auto read = unread(); !read) return read;
  if (database_->is_lost()) {
    in_doubt_ = true;
    if (auto connected = database_->connect_again(); !connected) return connected;
  }
  if (auto begun = database_->begin_writing(doing); !begun) return begun;
  if (auto checked = database_->run(lease_->check().c_str(), doing); !checked) {
    database_->roll_back();
    return checked;
  }
  if (!in_doubt_) return {};
  if (auto looked = look_again(); !looked) {
    database_->roll_back();
    if (database_->state() == PgDatabase::fenced_state) lease_->note_fenced();
    return looked;
  }
  return {};
}

std::expected<void, WorldError> PgStore::append(JournalGroup& group, Merges merges) {
  if (database_->is_lost()) in_doubt_ = true;
  // The database may have lost groups, or hold one that was reported as failed.
  if (in_doubt_ || !rows_known_)
    return std::unexpected(error(WorldErrorCode::io,
                                 "the connection was lost; inputs are recorded again after the "
                                 "next checkpoint"));
  return RowStore::append(group, merges);
}

std::expected<void, WorldError> PgStore::look_again() {
  // The transaction whose answer was lost may have been committed: a group, which the next
  // checkpoint contains, or the step that made a checkpoint current.
  auto meta = read_meta(*database_, world_format::version, shown_);
  if (!meta) return std::unexpected(std::move(meta.error()));
  if (meta->world != meta_.world || meta->checkpoint < meta_.checkpoint || meta->checkpoint > meta_.checkpoint + 1)
    return std::unexpected(
        error(WorldErrorCode::damaged, "damaged: it holds checkpoint " + std::to_string(meta->checkpoint) +
                                           ", but this process wrote checkpoint " + std::to_string(meta_.checkpoint)));
  meta_ = std::move(*meta);
  if (auto noted = note_read(); !noted) return noted;
  rows_known_ = false;
  history_.forget();
  journal_given_up_ = true;
  in_doubt_ = false;
  return {};
}

std::expected<void, WorldError> PgStore::commit(const char* doing) {
  auto committed = database_->run("COMMIT", doing);
  if (committed) return {};
  if (database_->state() == PgDatabase::fenced_state) {
    lease_->note_fenced();
    return fenced_error();
  }
  if (database_->is_lost()) in_doubt_ = true;
  return committed;
}

std::string PgStore::way_on(const std::string& rescued) const {
  return "To look at it, open " + rescued + ". The world itself goes on at " + shown_;
}

std::expected<std::string, WorldError> PgStore::rescue(const CheckpointStamp& stamp, const Save& save) const {
  FileMeta meta = meta_;
  meta.group = journal_.end().group;
  meta.chain = journal_.end().checksum;
  return WorldFile::write_rescued(beside_, {.continues = &meta}, 0600, stamp, save, shown_);
}

}  // namespace muster
