// Hashes what each manager saves. Private to registry/moments/*.cc.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "registry/apply/managers.h"

namespace muster {

class ManagerHashes final : public ManagerRows {
 public:
  explicit ManagerHashes(const Managers& managers) { managers.save(*this); }
  void head(std::uint64_t key, std::span<const std::byte> row) override {
    add(key, 0, row);
    by_name[std::string(manager_name(row))] = hashes_[key];
  }
  bool has(std::uint64_t, std::uint32_t, std::uint64_t) override { return false; }
  void part(std::uint64_t key, std::uint32_t number, std::uint64_t, std::span<const std::byte> row) override {
    add(key, std::uint64_t{number} + 1, row);
  }

  std::map<std::string, std::uint64_t> by_name;
  std::uint64_t all = 0;
  std::size_t bytes = 0;  ///< that were hashed

 private:
  void add(std::uint64_t key, std::uint64_t number, std::span<const std::byte> row) {
    const std::uint64_t hash = XXH3_64bits_withSeed(row.data(), row.size(), key * 31 + number);
    hashes_[key] += hash;
    all += hash;
    bytes += row.size();
  }
  std::map<std::uint64_t, std::uint64_t> hashes_;  // by key
};

}  // namespace muster
