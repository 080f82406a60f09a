#include "server/world/place/wal_content.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace muster {
namespace {

std::uint32_t big_endian(const unsigned char* at) noexcept {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

std::uint32_t little_endian(const unsigned char* at) noexcept {
  return std::uint32_t{at[3]} << 24 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 | at[0];
}

template <std::uint32_t (*read)(const unsigned char*) noexcept>
void add(std::uint32_t (&sum)[2], const unsigned char* bytes, std::size_t count) noexcept {
  std::uint32_t first = sum[0], second = sum[1];
  for (std::size_t at = 0; at < count; at += 8) {
    first += read(bytes + at) + second;
    second += read(bytes + at + 4) + first;
  }
  sum[0] = first;
  sum[1] = second;
}

void add(WalEnd& to, const unsigned char* bytes, std::size_t count) noexcept {
  to.is_big_endian ? add<big_endian>(to.checksum, bytes, count) : add<little_endian>(to.checksum, bytes, count);
}

bool read_at(int descriptor, unsigned char* to, std::size_t count, std::uint64_t offset) noexcept {
  return ::pread(descriptor, to, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
}

/// If the frame continues the -wal at `end`, extends `end` by the frame and returns true.
bool take(WalEnd& end, const unsigned char* frame) noexcept {
  if (big_endian(frame) == 0 || WalSalts{big_endian(frame + 8), big_endian(frame + 12)} != end.salts) return false;
  end.before[0] = end.checksum[0];
  end.before[1] = end.checksum[1];
  add(end, frame, 8);
  add(end, frame + 24, end.page_bytes);
  ++end.frames;
  return end.checksum[0] == big_endian(frame + 16) && end.checksum[1] == big_endian(frame + 20);
}

}  // namespace

std::optional<WalEnd> read_wal_header(int descriptor) {
  unsigned char header[32];
  if (!read_at(descriptor, header, sizeof header, 0)) return std::nullopt;
  const std::uint32_t magic = big_endian(header), page = big_endian(header + 8);
  if ((magic & ~1u) != 0x377f0682 || big_endian(header + 4) != 3007000) return std::nullopt;
  if (page < 512 || page > 65536 || (page & (page - 1)) != 0) return std::nullopt;
  WalEnd end{.salts = {big_endian(header + 16), big_endian(header + 20)},
             .page_bytes = page,
             .is_big_endian = (magic & 1) != 0};
  add(end, header, 24);
  if (end.checksum[0] != big_endian(header + 24) || end.checksum[1] != big_endian(header + 28)) return std::nullopt;
  return end;
}

std::optional<WalEnd> read_wal(int descriptor, const WalEnd* known) {
  std::optional<WalEnd> end = read_wal_header(descriptor);
  if (!end) return std::nullopt;
  if (known && end->salts != known->salts) return std::nullopt;
  bool is_known = known == nullptr || known->frames == 0;
  constexpr std::size_t frames_at_once = 64;
  const std::size_t frame_bytes = 24 + std::size_t{end->page_bytes};
  std::vector<unsigned char> some(frames_at_once * frame_bytes);
  WalEnd last = *end;
  for (;;) {
    const ssize_t got =
        ::pread(descriptor, some.data(), some.size(), static_cast<off_t>(end->offset_of(end->frames + 1)));
    const std::size_t frames = got > 0 ? static_cast<std::size_t>(got) / frame_bytes : 0;
    for (std::size_t i = 0; i < frames; ++i) {
      const unsigned char* const frame = some.data() + i * frame_bytes;
      if (!take(*end, frame)) return is_known ? std::optional(last) : std::nullopt;
      if (big_endian(frame + 4) != 0) last = *end;
      if (known && end->frames == known->frames)
        is_known = end->checksum[0] == known->checksum[0] && end->checksum[1] == known->checksum[1];
    }
    if (frames < frames_at_once) return is_known ? std::optional(last) : std::nullopt;
  }
}

std::optional<WalEnd> read_wal_frames(int descriptor, WalEnd end, std::uint64_t count,
                                      std::vector<unsigned char>& frames) {
  const std::size_t frame_bytes = 24 + std::size_t{end.page_bytes};
  if (frames.size() < count * frame_bytes) frames.resize(count * frame_bytes);
  if (!read_at(descriptor, frames.data(), count * frame_bytes, end.offset_of(end.frames + 1))) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i)
    if (!take(end, frames.data() + i * frame_bytes)) return std::nullopt;
  return end;
}

std::optional<WalEnd> read_wal_end(int descriptor, const WalEnd& header, std::uint64_t frame) {
  unsigned char headers[2][24];
  WalEnd end = header;
  end.frames = frame;
  const auto read = [&](std::uint64_t number, unsigned char* into, std::uint32_t checksum[2]) {
    if (!read_at(descriptor, into, 24, header.offset_of(number))) return false;
    checksum[0] = big_endian(into + 16);
    checksum[1] = big_endian(into + 20);
    return big_endian(into + 8) == header.salts.first && big_endian(into + 12) == header.salts.second;
  };
  if (frame == header.frames) return header;
  if (frame == header.frames + 1)
    std::copy_n(header.checksum, 2, end.before);
  else if (!read(frame - 1, headers[0], end.before))
    return std::nullopt;
  if (!read(frame, headers[1], end.checksum)) return std::nullopt;
  return end;
}

}  // namespace muster
