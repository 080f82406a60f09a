#include "registry/apply/managers.h"

#include <algorithm>
#include <cstring>

#include "messages/require.h"
#include "registry/handlers/handler_table.h"
#include "schema/hash.h"

namespace muster {

namespace {

struct ManagerRow {
  std::uint32_t version = 0, name_bytes = 0;
};

/// Splits a row; false where it is cut off or its name is not the key's.
bool split(std::uint64_t key, std::span<const std::byte> row, ManagerRow& head, std::string_view& name,
           std::span<const std::byte>& state) {
  if (row.size() < sizeof head) return false;
  std::memcpy(&head, row.data(), sizeof head);
  if (row.size() - sizeof head < head.name_bytes) return false;
  name = {reinterpret_cast<const char*>(row.data()) + sizeof head, head.name_bytes};
  state = row.subspan(sizeof head + head.name_bytes);
  return !name.empty() && hash64(name) == key;
}

}  // namespace

void Managers::add(std::string name, Manager& manager) {
  if (name.empty()) throw SetupError("a manager needs a name");
  if (managers_.contains(name)) throw SetupError("there is a manager named \"" + name + "\" already");
  const auto one_hash = [&](std::string_view other) {
    throw SetupError("the managers \"" + name + "\" and \"" + std::string(other) + "\" have one hash; rename one");
  };
  for (const auto& [other, there] : managers_)
    if (hash64(other) == hash64(name)) one_hash(other);
  const auto waits = waiting_.find(hash64(name));
  if (waits != waiting_.end()) {
    ManagerRow head;
    std::string_view saved_name;
    std::span<const std::byte> state;
    require(split(waits->first, waits->second, head, saved_name, state), "Managers: a row that was not checked");
    if (saved_name != name) one_hash(saved_name);
    if (const auto done = manager.load(head.version, state); !done)
      throw SetupError("manager \"" + name + "\" refuses its saved state: " + done.error());
    waiting_.erase(waits);
  }
  managers_.emplace(std::move(name), &manager);
  storage_.log_destroyed(&gone_);
}

void Managers::remove(Manager& manager) {
  const auto at = std::ranges::find_if(managers_, [&](const auto& known) { return known.second == &manager; });
  if (at == managers_.end()) return;
  waiting_[hash64(at->first)] = row_of(at->first, manager);
  managers_.erase(at);
  if (managers_.empty()) storage_.log_destroyed(nullptr);
}

Manager* Managers::find(std::string_view name) const noexcept {
  const auto at = managers_.find(name);
  return at == managers_.end() ? nullptr : at->second;
}

void Managers::tell() {
  telling_.swap(gone_);
  for (const auto& [name, manager] : managers_) manager->on_destroyed(telling_);
  telling_.clear();
}

void Managers::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const {
  for (const auto& [name, manager] : managers_)
    manager->describe(e, [&, &called = name](const Held& held) { take(called, held); });
}

std::vector<std::byte> Managers::row_of(const std::string& name, const Manager& manager) {
  const ManagerRow head{manager.state_version(), static_cast<std::uint32_t>(name.size())};
  std::vector<std::byte> row(sizeof head + name.size());
  std::memcpy(row.data(), &head, sizeof head);
  std::memcpy(row.data() + sizeof head, name.data(), name.size());
  manager.save(row);
  return row;
}

void Managers::save(const std::function<void(std::uint64_t, std::span<const std::byte>)>& row) const {
  std::map<std::uint64_t, std::vector<std::byte>> rows = waiting_;
  for (const auto& [name, manager] : managers_) rows[hash64(name)] = row_of(name, *manager);
  for (const auto& [key, bytes] : rows) row(key, bytes);
}

std::string Managers::load(std::uint64_t key, std::span<const std::byte> row) {
  ManagerRow head;
  std::string_view name;
  std::span<const std::byte> state;
  if (!split(key, row, head, name, state)) return "the manager's row is cut off, or another one's";
  Manager* manager = find(name);
  if (!manager) {
    waiting_[key].assign(row.begin(), row.end());
    return {};
  }
  const auto done = manager->load(head.version, state);
  return done ? std::string{} : "manager \"" + std::string(name) + "\": " + done.error();
}

}  // namespace muster
