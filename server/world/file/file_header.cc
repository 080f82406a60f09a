#include "server/world/file/file_header.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "server/world/rows/format.h"
#include "system/open_file.h"

namespace muster {
namespace {

constexpr std::size_t header_bytes = 100;
constexpr char magic[16] = "SQLite format 3";

std::uint32_t big_endian(const unsigned char* at) noexcept {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

}  // namespace

std::uint64_t file_bytes(const std::string& path) noexcept {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
}

std::expected<void, WorldError> check_header(const std::string& path, const std::string& shown) {
  const auto refuse = [&](WorldErrorCode code, std::string detail) {
    return std::unexpected(WorldError(code, shown, std::move(detail)));
  };
  const int fd = open_file(path.c_str(), O_RDONLY);
  if (fd < 0)
    return refuse(errno == EACCES || errno == EPERM ? WorldErrorCode::denied : WorldErrorCode::io,
                  "cannot be read: " + std::string(std::strerror(errno)));
  std::array<unsigned char, header_bytes> header{};
  const ssize_t got = ::pread(fd, header.data(), header.size(), 0);
  const int error = errno;
  ::close(fd);
  if (got < 0) return refuse(WorldErrorCode::io, "cannot be read: " + std::string(std::strerror(error)));
  const auto length = static_cast<std::size_t>(got);

  if (length == 0) return refuse(WorldErrorCode::not_a_world, "the file is empty, not a world");
  if (std::memcmp(header.data(), magic, std::min(length, sizeof magic)) != 0)
    return refuse(WorldErrorCode::not_a_world, "not a world: it does not begin like an SQLite database");
  if (length < header_bytes)
    return refuse(WorldErrorCode::damaged,
                  "cut off: " + std::to_string(length) + " bytes are there, the header alone has 100");
  const std::uint32_t application = big_endian(&header[68]);
  if (application != world_format::application_id) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "not a world: an SQLite database of another application (application_id 0x%08x, a world has 0x%08x)",
                  application, world_format::application_id);
    return refuse(WorldErrorCode::not_a_world, text);
  }
  const std::uint32_t format = big_endian(&header[60]);
  if (format > world_format::version)
    return refuse(WorldErrorCode::newer, "written in file format " + std::to_string(format) + "; this Muster " +
                                             std::string(world_format::product) + " reads formats up to " +
                                             std::to_string(world_format::version));
  if (format == 0) return refuse(WorldErrorCode::damaged, "damaged: the header names no file format");
  if (format < world_format::oldest_version)
    return refuse(WorldErrorCode::older, "written in file format " + std::to_string(format) + "; this Muster " +
                                             std::string(world_format::product) + " reads formats from " +
                                             std::to_string(world_format::oldest_version) + " to " +
                                             std::to_string(world_format::version));
  // Until the -wal has been merged, the header may describe a later state than the rest of the
  // file.
  if (file_bytes(path + "-wal") == 0) {
    const std::uint32_t page = std::uint32_t{header[16]} << 8 | header[17];
    const std::uint64_t whole = std::uint64_t{big_endian(&header[28])} * (page == 1 ? 65536 : page);
    if (file_bytes(path) < whole)
      return refuse(WorldErrorCode::damaged, "cut off: " + std::to_string(file_bytes(path)) + " of " +
                                                 std::to_string(whole) + " bytes are there");
  }
  return {};
}

}  // namespace muster
