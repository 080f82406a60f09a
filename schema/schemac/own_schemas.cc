#include "schema/schemac/own_schemas.h"

#include <system_error>

#include "schema/schemac/flatc.h"
#include "schema/schemac/header.h"

namespace muster::schemac {

std::filesystem::path own_schemas() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& place : {folder / MUSTER_SCHEMAS_FROM_HERE, folder.parent_path()})
    if (std::filesystem::is_regular_file(place / "schema/muster.fbs", error)) return place.lexically_normal();
  return {};
}

bool is_own_schema(const std::filesystem::path& own, const std::filesystem::path& file) {
  if (own.empty()) return file.filename() == "muster.fbs" && file.parent_path().filename() == "schema";
  const auto ours = read_file((own / "schema" / file.filename()).string());
  if (!ours) return false;
  // If the binary schema was passed without its sources, the file's path shows which schema was
  // included.
  const auto theirs = read_file(file.string());
  return theirs ? *ours == *theirs : file.parent_path().filename() == "schema";
}

std::string included_header(const std::filesystem::path& own, const std::filesystem::path& file,
                            std::string_view source_file) {
  const std::string header = header_of(source_file);
  if (header == "schema/muster.h") return "muster/" + header;
  return is_own_schema(own, file) ? "muster/schema/" + header : header;
}

}  // namespace muster::schemac
