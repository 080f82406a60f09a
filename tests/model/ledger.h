// Two managers of the random programs: one is told of entities that died, one sweeps.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/entity_registry.h"

namespace naive {

using muster::Entity;

/// Appends to and reads from a manager's state.
class Words {
 public:
  explicit Words(std::vector<std::byte>& out) : out_(out) {}
  void put(std::uint64_t word) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    out_.insert(out_.end(), bytes, bytes + sizeof word);
  }

 private:
  std::vector<std::byte>& out_;
};
inline bool read_words(std::span<const std::byte> bytes, std::vector<std::uint64_t>& words) {
  if (bytes.size() % 8 != 0) return false;
  words.resize(bytes.size() / 8);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return true;
}

/// Several amounts per entity, told apart by numbers. Saved in parts: the next number, and the amounts of 16 entities each.
class Ledger final : public muster::Manager {
 public:
  using Amounts = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  explicit Ledger(const muster::EntityRegistry& registry) : registry_(registry) {}

  std::size_t add(Entity e, std::uint32_t amount) {
    held[e].emplace_back(next_instance++, amount);
    changed_[0] = changed_[part_of(e)] = registry_.version();
    return held[e].size();
  }
  void on_destroyed(std::span<const Entity> gone) override {
    for (const Entity e : gone) {
      told.push_back(e);
      if (held.erase(e) > 0) changed_[part_of(e)] = registry_.version();
      if (registry_.alive(e)) trouble = "a manager was told of the death of somebody alive";
    }
  }
  void describe(Entity e, const std::function<void(const muster::Held&)>& take) const override {
    const auto at = held.find(e);
    if (at == held.end()) return;
    for (const auto& [instance, amount] : at->second)
      take({.name = "amount", .instance = instance, .bytes = std::as_bytes(std::span(&amount, 1))});
  }
  bool in_parts() const override { return true; }
  void save_parts(muster::ManagerSink& to) const override {
    std::map<std::uint32_t, std::vector<std::byte>> parts;
    Words(parts[0]).put(next_instance);
    for (const auto& [e, amounts] : held)
      for (const auto& [instance, amount] : amounts) {
        Words words(parts[part_of(e)]);
        words.put(e.bits());
        words.put(instance);
        words.put(amount);
      }
    for (const auto& [number, bytes] : parts) {
      const auto changed = changed_.find(number);
      const std::uint64_t version = changed == changed_.end() ? 0 : changed->second;
      if (!to.has(number, version)) to.part(number, version, bytes);
    }
  }
  std::expected<void, std::string> load_parts(std::uint32_t, std::span<const muster::ManagerPart> parts) override {
    std::map<Entity, Amounts> all;
    std::vector<std::uint64_t> words;
    if (parts.empty() || parts[0].number != 0 || !read_words(parts[0].bytes, words) || words.size() != 1)
      return std::unexpected("not a ledger's beginning");
    const std::uint64_t next = words[0];
    for (const muster::ManagerPart& part : parts.subspan(1)) {
      if (!read_words(part.bytes, words) || words.size() % 3 != 0) return std::unexpected("not a ledger's length");
      for (std::size_t i = 0; i < words.size(); i += 3) {
        const Entity e = Entity::from_bits(words[i]);
        if (part_of(e) != part.number) return std::unexpected("a part of a ledger has another's entity");
        all[e].emplace_back(words[i + 1], static_cast<std::uint32_t>(words[i + 2]));
      }
    }
    held = std::move(all);
    next_instance = next;
    changed_.clear();
    return {};
  }

  std::map<Entity, Amounts> held;
  std::uint64_t next_instance = 1;
  std::vector<Entity> told;  ///< since the test looked last
  std::string trouble;

 private:
  static std::uint32_t part_of(Entity e) { return 1 + e.index / 16; }

  const muster::EntityRegistry& registry_;
  std::map<std::uint32_t, std::uint64_t> changed_;  // by part: when it changed last
};

/// Looks at some of those it holds and drops the dead; `alive(e)` says who lives.
template <class Alive>
std::size_t sweep(std::vector<Entity>& watched, std::size_t count, Alive&& alive) {
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < count && i < watched.size();) {
    if (alive(watched[i])) {
      ++i;
      continue;
    }
    watched[i] = watched.back();
    watched.pop_back();
    ++dropped;
  }
  return dropped;
}

/// Not told of anything.
class Watcher final : public muster::Manager {
 public:
  void save(std::vector<std::byte>& out) const override {
    Words words(out);
    for (const Entity e : watched) words.put(e.bits());
  }
  std::expected<void, std::string> load(std::uint32_t, std::span<const std::byte> bytes) override {
    std::vector<std::uint64_t> words;
    if (!read_words(bytes, words)) return std::unexpected("not a watcher's length");
    watched.clear();
    for (const std::uint64_t word : words) watched.push_back(Entity::from_bits(word));
    return {};
  }
  std::vector<Entity> watched;
};

}  // namespace naive
