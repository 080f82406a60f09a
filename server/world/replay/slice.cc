#include "server/world/replay/slice.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/world/file/world_file.h"
#include "system/open_file.h"
#include "system/real_path.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "slices are written as they are in memory");

constexpr std::array<char, 8> slice_magic = {'M', 'U', 'S', 'T', 'E', 'R', 'S', 'L'};
constexpr std::size_t slice_head = 24, slice_sum = 16;
enum class Block : std::uint32_t { meta = 1, row, step, run_step, group, state, hash };
constexpr std::uint32_t format_without_hashes = 1;
constexpr std::uint16_t section_last = static_cast<std::uint16_t>(StateSection::manager_parts);

std::array<std::byte, slice_sum> sum_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
  return std::bit_cast<std::array<std::byte, slice_sum>>(sum);
}

class SliceWriter {
 public:
  explicit SliceWriter(std::uint32_t format) {
    put(slice_magic);
    put(format);
    put(std::uint32_t{0});
    put(std::uint64_t{0});
  }
  template <class T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void put_columns(const std::map<std::string, std::uint64_t>& columns) {
    for (const auto& [name, number] : columns) {
      put_text(name);
      put(number);
    }
  }
  void begin(Block kind) {
    put(kind);
    put(std::uint32_t{0});
    put(std::uint64_t{0});
    begun_ = bytes_.size();
  }
  void end() { put_at(begun_ - 8, bytes_.size() - begun_); }
  std::vector<std::byte> finish() {
    put_at(slice_head - 8, bytes_.size() + slice_sum);
    put(sum_of(bytes_));
    return std::move(bytes_);
  }

 private:
  void put_at(std::size_t at, std::uint64_t value) { std::memcpy(bytes_.data() + at, &value, sizeof value); }
  std::vector<std::byte> bytes_;
  std::size_t begun_ = 0;
};

/// Reads values one after another. After a value that does not fit, is_whole() is false, and all
/// further values are zero.
class SliceReader {
 public:
  explicit SliceReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T get() {
    T value{};
    const auto bytes = get_bytes(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> get_bytes(std::uint64_t size) {
    if (size > left_.size()) {
      whole_ = false;
      return {};
    }
    const auto bytes = left_.first(static_cast<std::size_t>(size));
    left_ = left_.subspan(static_cast<std::size_t>(size));
    return bytes;
  }
  std::string get_text() {
    const auto bytes = get_bytes(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Reads columns to the end, which are in the order of their names, each once.
  std::map<std::string, std::uint64_t> get_columns() {
    std::map<std::string, std::uint64_t> columns;
    while (whole_ && !at_end()) {
      std::string name = get_text();
      if (!columns.empty() && name <= columns.rbegin()->first) whole_ = false;
      columns.emplace_hint(columns.end(), std::move(name), get<std::uint64_t>());
    }
    return columns;
  }
  std::span<const std::byte> rest() { return get_bytes(left_.size()); }
  std::size_t left() const noexcept { return left_.size(); }
  bool at_end() const noexcept { return left_.empty(); }
  bool is_whole() const noexcept { return whole_; }

 private:
  std::span<const std::byte> left_;
  bool whole_ = true;
};

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// Reads a block. Returns false if its payload is not as long as its values.
bool read_block(Block kind, SliceReader payload, Slice& slice) {
  switch (kind) {
    case Block::meta: {
      slice.sequence = payload.get<std::uint64_t>();
      slice.tick = payload.get<std::uint64_t>();
      const auto in_run = payload.get<std::uint64_t>();
      if (in_run > 1) return false;
      slice.in_run = in_run != 0;
      for (std::string* text : {&slice.world, &slice.product, &slice.saved, &slice.code}) *text = payload.get_text();
      break;
    }
    case Block::row: {
      const auto section = payload.get<std::uint32_t>();
      if (section == 0 || section > section_last) return false;
      StateKey key{.section = static_cast<StateSection>(section)};
      key.column = payload.get<std::uint32_t>();
      key.key = payload.get<std::uint64_t>();
      // Sources pass rows on in key order, each once.
      if (!slice.rows.empty() && key <= slice.rows.back().key) return false;
      slice.rows.push_back({.key = key, .bytes = copy_of(payload.rest())});
      break;
    }
    case Block::step:
    case Block::run_step: {
      EditHistory::Saved step{.number = payload.get<std::uint64_t>(), .bytes = {}};
      step.bytes = copy_of(payload.rest());
      (kind == Block::step ? slice.steps : slice.run_steps).push_back(std::move(step));
      break;
    }
    case Block::group: {
      JournalGroup group;
      for (std::uint64_t* number :
           {&group.id, &group.first, &group.last, &group.first_tick, &group.last_tick, &group.epoch, &group.types})
        *number = payload.get<std::uint64_t>();
      group.code = payload.get_text();
      group.records = copy_of(payload.rest());
      slice.groups.push_back(std::move(group));
      break;
    }
    case Block::state: {
      RecordedState state;
      for (std::uint64_t* number : {&state.sequence, &state.tick, &state.hash}) *number = payload.get<std::uint64_t>();
      state.columns = payload.get_columns();
      if (!slice.states.empty() && state.sequence <= slice.states.back().sequence) return false;
      slice.states.push_back(std::move(state));
      break;
    }
    case Block::hash: {
      TickHash hash;
      for (std::uint64_t* number : {&hash.tick, &hash.sequence}) *number = payload.get<std::uint64_t>();
      hash.columns = payload.get_columns();
      if (!slice.hashes.empty() && !(slice.hashes.back().place() < hash.place())) return false;
      slice.hashes.push_back(std::move(hash));
      break;
    }
  }
  return payload.is_whole() && payload.at_end();
}

std::unexpected<WorldError> failed(const std::string& path, const std::string& what, int error) {
  const WorldErrorCode code = error == EEXIST                      ? WorldErrorCode::exists
                              : error == ENOSPC || error == EDQUOT ? WorldErrorCode::disk_full
                              : error == ENOENT                    ? WorldErrorCode::missing
                              : error == EACCES                    ? WorldErrorCode::denied
                                                                   : WorldErrorCode::io;
  return std::unexpected(WorldError(code, path, what + ": " + std::strerror(error)));
}

}  // namespace

std::vector<std::byte> encode(const Slice& slice) {
  SliceWriter out(slice.states.empty() && slice.hashes.empty() ? format_without_hashes : slice_format);
  out.begin(Block::meta);
  out.put(slice.sequence);
  out.put(slice.tick);
  out.put(std::uint64_t{slice.in_run});
  for (const std::string* text : {&slice.world, &slice.product, &slice.saved, &slice.code}) out.put_text(*text);
  out.end();
  for (const Slice::Row& row : slice.rows) {
    out.begin(Block::row);
    out.put(static_cast<std::uint32_t>(row.key.section));
    out.put(row.key.column);
    out.put(row.key.key);
    out.put_bytes(row.bytes);
    out.end();
  }
  for (const Block kind : {Block::step, Block::run_step})
    for (const EditHistory::Saved& step : kind == Block::step ? slice.steps : slice.run_steps) {
      out.begin(kind);
      out.put(step.number);
      out.put_bytes(step.bytes);
      out.end();
    }
  for (const JournalGroup& group : slice.groups) {
    out.begin(Block::group);
    for (const std::uint64_t number :
         {group.id, group.first, group.last, group.first_tick, group.last_tick, group.epoch, group.types})
      out.put(number);
    out.put_text(group.code);
    out.put_bytes(group.records);
    out.end();
  }
  for (const RecordedState& state : slice.states) {
    out.begin(Block::state);
    for (const std::uint64_t number : {state.sequence, state.tick, state.hash}) out.put(number);
    out.put_columns(state.columns);
    out.end();
  }
  for (const TickHash& hash : slice.hashes) {
    out.begin(Block::hash);
    for (const std::uint64_t number : {hash.tick, hash.sequence}) out.put(number);
    out.put_columns(hash.columns);
    out.end();
  }
  return out.finish();
}

bool looks_like_slice(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= slice_magic.size() && std::memcmp(bytes.data(), slice_magic.data(), slice_magic.size()) == 0;
}

std::expected<Slice, std::string> decode_slice(std::span<const std::byte> bytes) {
  if (!looks_like_slice(bytes)) return std::unexpected("not a slice of a journal");
  SliceReader head(bytes.subspan(slice_magic.size()));
  const auto format = head.get<std::uint32_t>();
  const auto zero = head.get<std::uint32_t>();
  const auto size = head.get<std::uint64_t>();
  if (!head.is_whole() || bytes.size() < slice_head + slice_sum) return std::unexpected("the slice was cut");
  const auto body = bytes.first(bytes.size() - slice_sum);
  const auto sum = sum_of(body);
  if (std::memcmp(sum.data(), bytes.data() + body.size(), slice_sum) != 0)
    return std::unexpected(size > bytes.size()
                               ? "the slice was cut: " + std::to_string(bytes.size()) + " of " + std::to_string(size) +
                                     " bytes are there"
                               : std::string("the slice was changed or cut: its checksum does not fit"));
  if (format < format_without_hashes || format > slice_format)
    return std::unexpected("the slice has format " + std::to_string(format) +
                           ", and this program reads formats up to " + std::to_string(slice_format));
  const Block newest = format == format_without_hashes ? Block::group : Block::hash;
  if (zero != 0 || size != bytes.size()) return std::unexpected("the head of the slice is wrong");
  Slice slice;
  Block last{};
  for (SliceReader blocks(body.subspan(slice_head)); !blocks.at_end();) {
    const std::string place = "byte " + std::to_string(body.size() - blocks.left());
    const auto kind = blocks.get<Block>();
    const auto block_zero = blocks.get<std::uint32_t>();
    const auto payload = blocks.get_bytes(blocks.get<std::uint64_t>());
    const bool in_order = last == Block{} ? kind == Block::meta : kind > Block::meta && kind >= last;
    if (!blocks.is_whole() || block_zero != 0 || !in_order || kind > newest ||
        !read_block(kind, SliceReader(payload), slice))
      return std::unexpected("the block at " + place + " is wrong");
    last = kind;
  }
  if (last == Block{}) return std::unexpected("the slice is empty");
  if (format != format_without_hashes && last <= Block::group) return std::unexpected("the head of the slice is wrong");
  return slice;
}

std::expected<void, WorldError> write_slice(const std::string& path, const Slice& slice) {
  const std::vector<std::byte> bytes = encode(slice);
  const int fd = open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return failed(path, "the slice cannot be made", errno);
  int error = 0;
  for (std::span<const std::byte> left = bytes; !left.empty() && error == 0;) {
    const ::ssize_t wrote = ::write(fd, left.data(), left.size());
    if (wrote >= 0)
      left = left.subspan(static_cast<std::size_t>(wrote));
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  ::unlink(path.c_str());
  return failed(path, "the slice cannot be written", error);
}

std::expected<Slice, WorldError> read_slice_or_world(const std::string& path) {
  const int fd = open_file(real_path(path).c_str(), O_RDONLY);
  if (fd < 0) return failed(path, "cannot be read", errno);
  std::vector<std::byte> bytes;
  int error = 0;
  bool is_slice = true;
  for (std::size_t used = 0;;) {
    if (bytes.size() - used < 65536) bytes.resize(2 * bytes.size() + 65536);
    const ::ssize_t read = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) error = errno;
    if (read > 0) used += static_cast<std::size_t>(read);
    is_slice = used < slice_magic.size() ? read > 0 : looks_like_slice(bytes);
    if (read > 0 && is_slice) continue;
    bytes.resize(used);
    break;
  }
  ::close(fd);
  if (error != 0) return failed(path, "cannot be read", error);
  if (is_slice) {
    auto slice = decode_slice(bytes);
    if (!slice) return std::unexpected(WorldError(WorldErrorCode::damaged, path, slice.error()));
    return std::move(*slice);
  }
  auto file = WorldFile::open(path, {.mode = OpenMode::open_existing});
  if (!file) return std::unexpected(std::move(file.error()));
  return slice_of(*file);
}

}  // namespace muster
