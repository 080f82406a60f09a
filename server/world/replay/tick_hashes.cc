#include "server/world/replay/tick_hashes.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "registry/host.h"
#include "schema/hex.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

/// Takes what comes before the next `end` from the text.
std::string_view taken_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}
bool read_number(std::string_view text, std::uint64_t& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}
bool read_hash_line(std::string_view line, TickHash& hash) {
  if (!read_number(taken_until(line, ' '), hash.tick, 10)) return false;
  if (!read_number(taken_until(line, ' '), hash.sequence, 10)) return false;
  while (!line.empty()) {
    std::string_view column = taken_until(line, ' ');
    const std::string_view name = taken_until(column, '=');
    std::uint64_t number = 0;
    if (name.empty() || !read_number(column, number, 16) || !hash.columns.emplace(name, number).second) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::uint64_t> hash_changed_columns(const EntityRegistry& registry, std::uint64_t since) {
  std::map<const StoredType*, std::uint64_t> sums;
  for (const auto& archetype : registry.host().storage().archetypes()) {
    if (!archetype) continue;
    for (std::uint32_t depth = 0; depth < archetype->groups.size(); ++depth)
      for (const Chunk* const chunk : archetype->groups[depth].chunks)
        for (std::uint32_t slot = column_first; slot < archetype->pod_slots; ++slot) {
          const ColumnSlot& column = chunk->slots()[slot];
          const StoredType* const type = archetype->slot_types[slot];
          if (!column.data || column.version <= since || !type->descriptor) continue;
          const std::uint64_t place = (std::uint64_t{archetype->number} << 32) + (std::uint64_t{depth} << 20);
          const std::size_t size = std::size_t{type->size} * chunk->count;
          sums[type] += XXH3_64bits_withSeed(column.data, size, place + chunk->place);
        }
  }
  std::map<std::string, std::uint64_t> all;
  for (const auto& [type, sum] : sums) all[type->descriptor->name + (type->is_presence ? ".enabled" : "")] += sum;
  return all;
}

TickHashLog::TickHashLog(EntityRegistry& registry, std::string path)
    : registry_(registry),
      since_(registry.host().begin_version()),
      passed_on_(std::chrono::steady_clock::now()),
      file_(open_file(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {
  if (file_ < 0)
    throw WorldError(WorldErrorCode::io, std::move(path), std::string("cannot be written: ") + std::strerror(errno));
}

TickHashLog::~TickHashLog() {
  pass_on();
  queue_.drain();
  ::close(file_);
}

void TickHashLog::made_tick(std::uint64_t tick) {
  const auto changed = hash_changed_columns(registry_, std::exchange(since_, registry_.host().begin_version()));
  lines_ += std::to_string(tick) + ' ' + std::to_string(registry_.sequence());
  for (const auto& [name, number] : changed) lines_ += ' ' + name + '=' + hex(number);
  lines_ += '\n';
  if (std::chrono::steady_clock::now() - passed_on_ >= std::chrono::milliseconds(100)) pass_on();
}

void TickHashLog::pass_on() {
  passed_on_ = std::chrono::steady_clock::now();
  const std::size_t bytes = lines_.size();
  queue_.add(bytes, [this, lines = std::exchange(lines_, {})] { write(lines); });
}

void TickHashLog::write(std::string_view lines) noexcept {
  // A line that was written in part is left out by the reader.
  for (std::string_view left = lines; !left.empty();) {
    const ::ssize_t wrote = ::write(file_, left.data(), left.size());
    if (wrote > 0)
      left.remove_prefix(static_cast<std::size_t>(wrote));
    else if (wrote == 0 || errno != EINTR)
      return;
  }
}

std::expected<std::vector<TickHash>, WorldError> read_tick_hashes(const std::string& path, std::uint64_t first,
                                                                  std::uint64_t last) {
  const auto fail = [&](WorldErrorCode code, const std::string& what) {
    return std::unexpected(WorldError(code, path, what));
  };
  const int fd = open_file(real_path(path).c_str(), O_RDONLY);
  if (fd < 0) return fail(WorldErrorCode::missing, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<TickHash> all;
  std::string text;  // the lines that were not read yet; a log may be larger than the memory
  std::size_t number = 0, wrong = 0;
  int error = 0;
  constexpr std::size_t piece = 65536;
  for (::ssize_t read = 1; read > 0 && wrong == 0;) {
    const std::size_t used = text.size();
    text.resize(used + piece);
    read = ::read(fd, text.data() + used, piece);
    const bool again = read < 0 && errno == EINTR;
    if (read < 0 && !again) error = errno;
    text.resize(used + static_cast<std::size_t>(std::max<::ssize_t>(read, 0)));
    if (again) read = 1;
    std::string_view left = std::string_view(text).substr(0, text.rfind('\n') + 1);
    while (!left.empty() && wrong == 0) {
      ++number;
      TickHash hash;
      if (!read_hash_line(taken_until(left, '\n'), hash))
        wrong = number;
      else if (hash.sequence >= first && hash.sequence <= last)
        all.push_back(std::move(hash));
    }
    text.erase(0, text.rfind('\n') + 1);
  }
  ::close(fd);
  if (error != 0) return fail(WorldErrorCode::io, std::string("cannot be read: ") + std::strerror(error));
  if (wrong != 0)
    return fail(WorldErrorCode::damaged, "line " + std::to_string(wrong) + " is not a line of hashes of ticks");
  return all;
}

std::vector<TickHash> newest_hashes(std::vector<TickHash> all) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, TickHash> newest;
  for (TickHash& hash : all) newest.insert_or_assign(hash.place(), std::move(hash));
  std::vector<TickHash> in_order;
  for (auto& [place, hash] : newest) in_order.push_back(std::move(hash));
  return in_order;
}

}  // namespace muster
