// A manager whose saved state may be in one piece or in parts, and a keeper of a registry's rows that says what it has.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "schema/hash.h"

namespace heights {

/// How Heights are saved.
enum class Saved { whole, in_parts };

/// Numbers in pages of 4, each page a part. In one piece: the pages from the first to the last, one behind another.
class Heights final : public muster::Manager {
 public:
  static constexpr const char* name = "heights";
  static constexpr std::uint64_t key = muster::hash64(std::string_view(name));
  explicit Heights(muster::EntityRegistry& registry, Saved saved = Saved::in_parts, std::uint32_t version = 2)
      : registry_(registry), saved_(saved), version_(version) {
    registry.add_manager(name, *this);
  }
  ~Heights() override { registry_.remove_manager(*this); }
  Heights(const Heights&) = delete;
  Heights& operator=(const Heights&) = delete;

  void set(std::uint32_t at, std::int32_t height) {
    Page& page = pages_[at / 4];
    page.heights[at % 4] = height;
    page.version = registry_.version();
  }
  void drop(std::uint32_t page) { pages_.erase(page); }
  std::int32_t at(std::uint32_t at) const {
    const auto page = pages_.find(at / 4);
    return page == pages_.end() ? 0 : page->second.heights[at % 4];
  }

  std::uint32_t state_version() const override { return version_; }
  bool in_parts() const override { return saved_ == Saved::in_parts; }
  void save(std::vector<std::byte>& out) const override {
    for (const auto& [number, page] : pages_) {
      out.resize(out.size() + sizeof page.heights);
      std::memcpy(out.data() + out.size() - sizeof page.heights, page.heights.data(), sizeof page.heights);
    }
  }
  void save_parts(muster::ManagerSink& to) const override {
    for (const auto& [number, page] : pages_)
      if (!to.has(number, page.version)) {
        ++put_together;
        to.part(number, page.version, std::as_bytes(std::span(page.heights)));
      }
  }
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override {
    if (bytes.size() % 16 != 0) return std::unexpected("heights are truncated");
    loaded_version = version;
    pages_.clear();
    for (std::uint32_t number = 0; !bytes.empty(); ++number, bytes = bytes.subspan(16))
      std::memcpy(pages_[number].heights.data(), bytes.data(), 16);
    return {};
  }
  std::expected<void, std::string> load_parts(std::uint32_t version,
                                              std::span<const muster::ManagerPart> parts) override {
    if (saved_ == Saved::whole) return Manager::load_parts(version, parts);
    for (const muster::ManagerPart& part : parts)
      if (part.bytes.size() != 16) return std::unexpected("page " + std::to_string(part.number) + " is truncated");
    loaded_version = version;
    pages_.clear();
    for (const muster::ManagerPart& part : parts)
      std::memcpy(pages_[part.number].heights.data(), part.bytes.data(), 16);
    return {};
  }

  std::uint32_t loaded_version = 0;        ///< 0: nothing was loaded
  mutable std::uint64_t put_together = 0;  ///< parts that a save asked for the bytes of

 private:
  struct Page {
    std::array<std::int32_t, 4> heights = {};
    std::uint64_t version = 0;
  };
  muster::EntityRegistry& registry_;
  Saved saved_;
  std::uint32_t version_;
  std::map<std::uint32_t, Page> pages_;
};

/// A registry's rows with their versions. It asks for those that changed, as a file does, and tells which rows of managers were given
/// with other bytes than it had.
class Keeper final : public muster::StateSink, public muster::StateSource {
 public:
  using Bytes = std::vector<std::byte>;
  /// Numbers of the parts that were written, and -1 for the row with the name, in the order in which they came.
  std::vector<int> save(muster::EntityRegistry& registry) {
    written_.clear();
    seen_.clear();
    registry.host().begin_version();
    registry.save(*this);
    std::erase_if(kept, [&](const auto& row) { return !seen_.contains(row.first); });
    return written_;
  }
  bool has(const muster::StateKey& key, std::uint64_t version) override {
    if (!of_manager(key)) return false;
    const auto at = versions_.find(key);
    if (at == versions_.end() || at->second != version || !kept.contains(key)) return false;
    seen_.insert(key);
    return true;
  }
  void row(const muster::StateKey& key, std::uint64_t version, std::span<const std::byte> bytes) override {
    seen_.insert(key);
    Bytes given(bytes.begin(), bytes.end());
    const auto at = kept.find(key);
    if (of_manager(key) && (at == kept.end() || at->second != given))
      written_.push_back(key.section == muster::StateSection::managers ? -1 : static_cast<int>(key.column));
    versions_[key] = version;
    kept[key] = std::move(given);
  }
  void rows(muster::StateSection section,
            const std::function<void(const muster::StateKey&, std::span<const std::byte>)>& take) override {
    for (const auto& [key, bytes] : kept)
      if (key.section == section) take(key, bytes);
  }
  /// As a new process finds them: versions of the one before mean nothing.
  void forget_versions() { versions_.clear(); }

  std::map<muster::StateKey, Bytes> kept;

 private:
  static bool of_manager(const muster::StateKey& key) {
    return key.section == muster::StateSection::managers || key.section == muster::StateSection::manager_parts;
  }
  std::map<muster::StateKey, std::uint64_t> versions_;
  std::set<muster::StateKey> seen_;
  std::vector<int> written_;
};

constexpr muster::StateKey part(std::uint32_t number) {
  return {muster::StateSection::manager_parts, Heights::key, number};
}

}  // namespace heights
