#include "server/trace_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "registry/entity_registry.h"
#include "registry/profile.h"

namespace muster {

namespace {

std::unexpected<std::string> failed(const std::string& path, int error) {
  return std::unexpected(path + ": " + std::strerror(error));
}

}  // namespace

std::expected<void, std::string> TraceFile::begin(EntityRegistry& registry) {
  std::FILE* const file = std::fopen(path_.c_str(), "ab");
  if (!file) return failed(path_, errno);
  std::fclose(file);
  registry_ = &registry;
  registry.profile().set_trace(&trace_);
  registry.profile().observe(true);
  return {};
}

std::expected<void, std::string> TraceFile::end() {
  if (!registry_) return {};
  EntityRegistry& registry = *std::exchange(registry_, nullptr);
  registry.profile().observe(false);
  registry.profile().set_trace(nullptr);

  std::FILE* const file = std::fopen(path_.c_str(), "wb");
  if (!file) return failed(path_, errno);
  int error = 0;
  trace_.write([&](std::string_view piece) {
    if (error == 0 && std::fwrite(piece.data(), 1, piece.size(), file) != piece.size()) error = errno;
  });
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
  return failed(path_, error);
}

}  // namespace muster
