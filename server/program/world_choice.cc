#include "server/program/world_choice.h"

#include <expected>
#include <filesystem>
#include <memory>

#include "server/postgres/pg_address.h"
#include "server/postgres/pg_open.h"
#include "system/real_path.h"

namespace muster {

std::string path_beside(const std::string& world) {
  if (!is_pg_address(world)) return real_path(world);
  const auto address = read_pg_address(world);
  return address ? std::filesystem::absolute(beside_of(*address)).string() : std::string();
}

void choose_store(WorldOptions& options, const std::string& world) {
  if (!is_pg_address(world)) return;
  options.open_store = [](const std::string& address, const StoreOptions& of) {
    return std::expected<std::unique_ptr<Store>, WorldError>(open_pg_store(address, of));
  };
}

Durability durability_of(const std::string& name) {
  return name == "each_flush" ? Durability::each_flush
         : name == "batched"  ? Durability::batched
                              : Durability::checkpoint;
}

}  // namespace muster
