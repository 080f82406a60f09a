#include "server/web/page_files.h"

#include <xxhash.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "schema/hex.h"
#include "server/web/web_address.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

/// Returns the compressed bytes, or nothing if compression fails or does not make them smaller.
std::shared_ptr<const std::string> compressed(const std::string& bytes) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(::deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int outcome = ::deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  if (outcome != Z_STREAM_END || out.size() >= bytes.size()) return {};
  out.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(out));
}

std::string tag_of(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return hex(hash.high64) + hex(hash.low64);
}

std::optional<std::string> content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return bytes;
}

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

}  // namespace

std::expected<PageFiles, std::string> PageFiles::read(const std::string& folder, bool compress) {
  const auto wrong = [&](const std::string& what) {
    return std::unexpected("the page's folder '" + folder + "' " + what);
  };
  std::error_code error;
  if (!fs::is_directory(folder, error)) return wrong("is not a folder");
  PageFiles page;
  std::size_t all = 0;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    if (at->symlink_status(error).type() != fs::file_type::regular) continue;
    const std::uintmax_t size = at->file_size(error);
    if (error) break;
    all += static_cast<std::size_t>(size);
    if (page.files_.size() >= files_max) return wrong("has more than " + std::to_string(files_max) + " files");
    if (all > bytes_max) return wrong("has more than " + std::to_string(bytes_max) + " bytes");
    auto bytes = content(at->path());
    if (!bytes) return wrong("has a file that cannot be read: " + at->path().native());
    File file;
    file.type = media_type_of(suffix_of(at->path().filename().native()));
    file.tag = tag_of(*bytes);
    if (compress) file.gzip = compressed(*bytes);
    file.bytes = std::make_shared<const std::string>(std::move(*bytes));
    page.files_.emplace(at->path().lexically_relative(folder).generic_string(), std::move(file));
  }
  if (error) return wrong("cannot be read: " + error.message());
  if (!page.find("index.html")) return wrong("has no index.html");
  return page;
}

const PageFiles::File* PageFiles::find(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace muster
