#include "server/world/store/file_meta.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "schema/hex.h"
#include "server/world/rows/checksum.h"
#include "server/world/rows/format.h"
#include "system/random_id.h"

namespace muster {
namespace {

using Values = std::map<std::string, std::string>;

const std::string past_prefix = "past_";

bool read_number(std::string_view text, std::uint64_t& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Reads the value of a past checkpoint. Returns false if it is not one.
bool read_point(const std::string& name, const std::string& value, FilePoint& point) {
  std::istringstream in(value);
  std::string sequence, tick, rows, group, chain, alone;
  if (!(in >> sequence >> tick >> rows >> point.digest >> group >> chain >> point.saved)) return false;
  if (in >> alone) point.alone = alone == "alone";
  return read_number(std::string_view(name).substr(past_prefix.size()), point.checkpoint) &&
         read_number(sequence, point.sequence) && read_number(tick, point.tick) && read_number(rows, point.rows) &&
         read_number(group, point.group) && read_number(chain, point.chain, 16) && point.checkpoint != 0;
}

std::string checksum_of(const Values& values) {
  std::string all;
  for (const auto& [name, value] : values)
    if (name != "checksum") all += name + '=' + value + '\n';
  return hex(text_checksum(all));
}

Values values_of(const FileMeta& meta, std::uint32_t format) {
  Values values{{"world", meta.world},
                {"product", meta.product},
                {"created", meta.created},
                {"saved", meta.saved},
                {"code", meta.code},
                {"types", meta.types},
                {"checkpoint", std::to_string(meta.checkpoint)},
                {"sequence", std::to_string(meta.sequence)},
                {"tick", std::to_string(meta.tick)},
                {"rows", std::to_string(meta.rows)},
                {"digest", meta.digest},
                {"group", std::to_string(meta.group)},
                {"journal", hex(meta.chain)}};
  if (format > 2) {
    values["steps"] = std::to_string(meta.steps);
    values["history"] = meta.history;
  }
  if (meta.level) {
    values["level"] = std::to_string(meta.level->checkpoint);
    values["level_sequence"] = std::to_string(meta.level->sequence);
    values["level_tick"] = std::to_string(meta.level->tick);
    values["level_rows"] = std::to_string(meta.level->rows);
    values["level_digest"] = meta.level->digest;
  }
  for (const FilePoint& point : meta.past)
    values[past_prefix + std::to_string(point.checkpoint)] =
        std::to_string(point.sequence) + ' ' + std::to_string(point.tick) + ' ' + std::to_string(point.rows) + ' ' +
        point.digest + ' ' + std::to_string(point.group) + ' ' + hex(point.chain) + ' ' + point.saved +
        (point.alone ? " alone" : "");
  if (!meta.requests.empty()) values["requests"] = meta.requests;
  if (meta.run_steps) {
    values["run_first"] = std::to_string(meta.run_steps->first);
    values["run_last"] = std::to_string(meta.run_steps->last);
  }
  values["checksum"] = checksum_of(values);
  return values;
}

}  // namespace

FileMeta FileMeta::of_level() const {
  FileMeta of = *this;
  of.checkpoint = level->checkpoint;
  of.sequence = level->sequence;
  of.tick = level->tick;
  of.rows = level->rows;
  of.digest = level->digest;
  of.level.reset();
  of.past.clear();
  return of;
}

FileMeta FileMeta::of_point(const FilePoint& point) const {
  FileMeta of = *this;
  of.checkpoint = point.checkpoint;
  of.sequence = point.sequence;
  of.tick = point.tick;
  of.rows = point.rows;
  of.digest = point.digest;
  of.group = point.group;
  of.chain = point.chain;
  of.saved = point.saved;
  of.level.reset();
  of.past.clear();
  return of;
}

std::uint64_t FileMeta::past_group(const std::vector<FilePoint>& past, std::uint64_t contained) noexcept {
  const auto first = std::ranges::find(past, false, &FilePoint::alone);
  return first == past.end() ? contained : first->group;
}

FilePoint FileMeta::as_point() const {
  return {.checkpoint = checkpoint,
          .sequence = sequence,
          .tick = tick,
          .rows = rows,
          .digest = digest,
          .group = group,
          .chain = chain,
          .saved = saved,
          .alone = level.has_value()};
}

std::vector<std::uint64_t> FileMeta::kept_checkpoints() const {
  std::vector<std::uint64_t> all;
  for (const FilePoint& point : past) all.push_back(point.checkpoint);
  // During a run, the level is newer than all others.
  if (level && (all.empty() || all.back() != level->checkpoint)) all.push_back(level->checkpoint);
  return all;
}

std::expected<FileMeta, WorldError> read_meta(Database& database, std::uint32_t format, const std::string& shown) {
  constexpr const char* doing = "reading the meta table";
  auto statement = database.prepare("SELECT name, value FROM meta", doing);
  if (!statement) return std::unexpected(std::move(statement.error()));
  Values values;
  SqlStep step;
  while ((step = statement->step()) == SqlStep::row) values[statement->text(0)] = statement->text(1);
  if (step == SqlStep::error) return std::unexpected(database.error(doing));

  const auto damaged = [&](const std::string& what) {
    return std::unexpected(WorldError(WorldErrorCode::damaged, shown, "damaged: in the meta table " + what));
  };
  for (const auto& [name, value] : values_of({}, format))
    if (!values.contains(name)) return damaged("'" + name + "' is missing");
  if (values["checksum"] != checksum_of(values)) return damaged("the checksum does not fit the values");

  FileMeta meta;
  meta.world = values["world"];
  meta.product = values["product"];
  meta.created = values["created"];
  meta.saved = values["saved"];
  meta.code = values["code"];
  meta.types = values["types"];
  meta.digest = values["digest"];
  if (values.contains("requests")) meta.requests = values["requests"];
  meta.history = format > 2 ? values["history"] : StateDigest{}.text();
  struct Number {
    const char* name;
    std::uint64_t* value;
    int base = 10;
  };
  std::vector<Number> numbers = {
      {"checkpoint", &meta.checkpoint}, {"sequence", &meta.sequence}, {"tick", &meta.tick}, {"rows", &meta.rows},
      {"group", &meta.group},           {"journal", &meta.chain, 16}};
  if (format > 2) numbers.push_back({"steps", &meta.steps});
  if (values.contains("level")) {
    FileLevel& level = meta.level.emplace();
    level.digest = values["level_digest"];
    for (const auto& [name, value] :
         {std::pair("level", &level.checkpoint), std::pair("level_sequence", &level.sequence),
          std::pair("level_tick", &level.tick), std::pair("level_rows", &level.rows)})
      numbers.push_back({name, value});
  }
  if (values.contains("run_first")) {
    RunSteps& run = meta.run_steps.emplace();
    numbers.push_back({"run_first", &run.first});
    numbers.push_back({"run_last", &run.last});
  }
  for (const auto& [name, number, base] : numbers) {
    const std::string& text = values[name];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
    if (error != std::errc() || end != text.data() + text.size())
      return damaged("'" + std::string(name) + "' is not a number: '" + text + "'");
  }
  for (const auto& [name, value] : values) {
    if (!name.starts_with(past_prefix)) continue;
    FilePoint point;
    if (!read_point(name, value, point))
      return damaged("'" + name + "' does not describe a checkpoint: '" + value + "'");
    meta.past.push_back(std::move(point));
  }
  std::ranges::sort(meta.past, {}, &FilePoint::checkpoint);
  for (std::size_t i = 0; i < meta.past.size(); ++i) {
    const FilePoint& point = meta.past[i];
    const bool last = i + 1 == meta.past.size();
    if (point.checkpoint >= (last ? meta.checkpoint : meta.past[i + 1].checkpoint) ||
        point.group > (last ? meta.group : meta.past[i + 1].group))
      return damaged("the past checkpoint " + std::to_string(point.checkpoint) + " is newer than one that follows it");
  }
  if (meta.level && (meta.level->checkpoint == 0 || meta.level->checkpoint > meta.checkpoint))
    return damaged("the level is checkpoint " + std::to_string(meta.level->checkpoint) + ", but the newest is " +
                   std::to_string(meta.checkpoint));
  return meta;
}

std::expected<void, WorldError> write_meta(Database& database, const FileMeta& meta) {
  constexpr const char* doing = "writing the meta table";
  if (auto emptied = database.run("DELETE FROM meta", doing); !emptied) return emptied;
  auto statement = database.prepare("INSERT INTO meta(name, value) VALUES(?1, ?2)", doing);
  if (!statement) return std::unexpected(std::move(statement.error()));
  for (const auto& [name, value] : values_of(meta, world_format::version))
    if (!statement->bind(1, std::string_view(name)).bind(2, std::string_view(value)).run())
      return std::unexpected(database.error(doing));
  return {};
}

std::string new_world_name() { return hex(random_id()) + hex(random_id()); }

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t seconds_of(const std::string& text) noexcept {
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return end != nullptr && *end == '\0' ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

}  // namespace muster
