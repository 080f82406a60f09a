#include "server/web/slice_answer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "server/world/replay/slice_copy.h"

namespace muster {
namespace {

/// Writes the bytes to a file without a name, and returns it open for reading from its beginning.
OpenFile nameless_file(std::span<const std::byte> bytes) {
  std::error_code failure;
  std::string name = (std::filesystem::temp_directory_path(failure) / "muster-slice-XXXXXX").string();
  const int fd = failure ? -1 : ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return {};
  ::unlink(name.c_str());
  OpenFile file(fd, bytes.size());
  while (!bytes.empty()) {
    const ::ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return {};
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  if (::lseek(fd, 0, SEEK_SET) != 0) return {};
  return file;
}

}  // namespace

HttpAnswer slice_answer(const std::string& path, const std::string& hashes) {
  auto slice =
      slice_of_copy(path, {.age = std::chrono::seconds(SliceLimits::seconds_min), .bytes_max = SliceLimits::bytes_max});
  if (!slice && slice.error().code() == WorldErrorCode::missing) return http_sentence(404, "there is no such world");
  if (!slice && slice.error().code() == WorldErrorCode::too_large)
    return http_sentence(413, "the world is too large for a slice here: use `muster journal WORLD --slice FILE`");
  if (!slice) return http_sentence(503, slice.error().detail());
  if (!hashes.empty()) (void)add_hashes(*slice, hashes);
  HttpAnswer answer;
  answer.file = nameless_file(encode(*slice));
  if (!answer.file) return http_sentence(503, std::string("the slice cannot be written: ") + std::strerror(errno));
  answer.fields = {{"Content-Type", "application/octet-stream"},
                   {"Cache-Control", "no-store"},
                   {"Content-Disposition", "attachment; filename=\"" + slice_name(path, *slice) + "\""}};
  return answer;
}

}  // namespace muster
