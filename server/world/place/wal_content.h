// Reads a -wal without SQLite, in order to check that it is complete and is the expected one. Does
// not change any files.
//
//   0          32         56       56 + page
//   | header   | frame 1: | its page | frame 2 ...
//
//   header   | magic 4 | version 4 | page 4 | number 4 | salts 8 | checksum 8 |    big-endian
//   frame    | page 4 | pages of the database after a commit, else 0 4 | salts 8 | checksum 8 |
//
// A frame is valid if its salts match the header's and its checksum is correct. Each checksum
// continues that of the previous frame. Whenever SQLite restarts the -wal, it adds 1 to the first
// salt and chooses the second at random.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace muster {

struct WalSalts {
  std::uint32_t first = 0, second = 0;  ///< if both are 0, there are no salts
  explicit operator bool() const noexcept { return first != 0 || second != 0; }
  bool operator==(const WalSalts&) const noexcept = default;
  /// Returns true if the -wal has been restarted exactly once since the time when its salts were
  /// `other`.
  bool follows(const WalSalts& other) const noexcept { return first == other.first + 1; }
};

/// Describes the end of a -wal.
struct WalEnd {
  WalSalts salts = {};
  std::uint32_t page_bytes = 0;
  bool is_big_endian = false;  ///< byte order of the checksums
  std::uint64_t frames = 0;
  /// Checksum of the last frame, or of the header if there is no frame.
  std::uint32_t checksum[2] = {};
  std::uint32_t before[2] = {};  ///< checksum of the frame before the last one, or of the header
  std::uint64_t bytes() const noexcept { return offset_of(frames + 1); }
  /// Returns the offset of a frame. Frames are numbered from 1.
  std::uint64_t offset_of(std::uint64_t frame) const noexcept {
    return 32 + (frame - 1) * (24 + std::uint64_t{page_bytes});
  }
};

/// Reads only the header of the -wal. Returns nothing if SQLite would treat the -wal as empty.
std::optional<WalEnd> read_wal_header(int descriptor);
/// Reads all frames up to the last commit. Returns nothing if `known` is given and the -wal does
/// not contain its end.
std::optional<WalEnd> read_wal(int descriptor, const WalEnd* known = nullptr);
/// Reads `count` frames after `end` into `buffer` and returns the new end. Returns nothing if any
/// of the frames is invalid.
std::optional<WalEnd> read_wal_frames(int descriptor, WalEnd end, std::uint64_t count,
                                      std::vector<unsigned char>& buffer);
/// Returns the end of the -wal at `frame`, which the owner has just written after `header`. Reads
/// only the headers of this frame and the previous one. Returns nothing if their salts differ.
std::optional<WalEnd> read_wal_end(int descriptor, const WalEnd& header, std::uint64_t frame);

}  // namespace muster
