#include "registry/apply/managers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messages/require.h"
#include "registry/handlers/handler_table.h"
#include "schema/hash.h"

namespace muster {

namespace {

struct ManagerRow {
  std::uint32_t version = 0, name_bytes = 0;
};
constexpr std::uint32_t in_parts = 1u << 31;     // bit of the version
constexpr std::uint32_t part_none = 0xffffffff;  // no part has this number

/// The head of a saved manager.
struct Head {
  std::uint32_t version = 0;
  bool has_parts = false;
  std::string_view name;
  std::span<const std::byte> state;
  std::uint32_t parts = 0;
};

/// Splits a row; false where it is cut off or its name is not the key's.
bool split(std::uint64_t key, std::span<const std::byte> row, Head& head) {
  ManagerRow fixed;
  if (row.size() < sizeof fixed) return false;
  std::memcpy(&fixed, row.data(), sizeof fixed);
  if (row.size() - sizeof fixed < fixed.name_bytes) return false;
  head.version = fixed.version & ~in_parts;
  head.has_parts = (fixed.version & in_parts) != 0;
  head.name = {reinterpret_cast<const char*>(row.data()) + sizeof fixed, fixed.name_bytes};
  head.state = row.subspan(sizeof fixed + fixed.name_bytes);
  if (head.has_parts) {
    if (head.state.size() != sizeof head.parts) return false;
    std::memcpy(&head.parts, head.state.data(), sizeof head.parts);
  }
  return !head.name.empty() && hash64(head.name) == key;
}

/// Of a row that was checked.
Head head_of(std::uint64_t key, const SavedManager& saved) {
  Head head;
  require(split(key, saved.head, head), "Managers: a row that was not checked");
  return head;
}

/// Versions of a manager's parts begin anew with each manager and each state of the name, and differ by the moment when that came.
std::uint64_t version_at(std::uint64_t moment, std::uint64_t version) {
  require(version < std::uint64_t{1} << 40, "Manager: the version of a part is too large");
  return (moment << 40) | version;
}

/// Keeps what is given.
class SavedRows final : public ManagerRows {
 public:
  void head(std::uint64_t, std::span<const std::byte> bytes) override { saved.head.assign(bytes.begin(), bytes.end()); }
  bool has(std::uint64_t, std::uint32_t, std::uint64_t) override { return false; }
  void part(std::uint64_t, std::uint32_t number, std::uint64_t, std::span<const std::byte> bytes) override {
    saved.parts[number].assign(bytes.begin(), bytes.end());
  }
  SavedManager saved;
};

/// A manager's parts on their way, counted.
class PartSink final : public ManagerSink {
 public:
  PartSink(std::uint64_t key, std::uint64_t moment, ManagerRows& to) : key_(key), moment_(moment), to_(to) {}
  bool has(std::uint32_t number, std::uint64_t version) override {
    if (!to_.has(key_, number, version_at(moment_, version))) return false;
    count(number);
    return true;
  }
  void part(std::uint32_t number, std::uint64_t version, std::span<const std::byte> bytes) override {
    count(number);
    to_.part(key_, number, version_at(moment_, version), bytes);
  }
  std::uint32_t parts() const noexcept { return parts_; }

 private:
  void count(std::uint32_t number) {
    require(number >= next_ && number != part_none, "Manager: its parts are not in ascending order");
    next_ = number + 1;
    ++parts_;
  }
  const std::uint64_t key_, moment_;
  ManagerRows& to_;
  std::uint32_t parts_ = 0, next_ = 0;  // the least number that may come
};

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
    const std::string_view saved_name = head_of(waits->first, waits->second).name;
    if (saved_name != name) one_hash(saved_name);
    if (const std::string wrong = give(name, manager, waits->second); !wrong.empty())
      throw SetupError("manager \"" + name + "\" refuses its saved state: " + wrong);
    waiting_.erase(waits);
  }
  managers_.emplace(std::move(name), Present{.manager = &manager, .moment = ++moments_});
  storage_.log_destroyed(&gone_);
}

void Managers::remove(Manager& manager) {
  const auto at = std::ranges::find_if(managers_, [&](const auto& known) { return known.second.manager == &manager; });
  if (at == managers_.end()) return;
  SavedRows rows;
  save_present(at->first, at->second, rows);
  rows.saved.moment = ++moments_;
  waiting_[hash64(at->first)] = std::move(rows.saved);
  managers_.erase(at);
  if (managers_.empty()) storage_.log_destroyed(nullptr);
}

void Managers::set_waiting(ManagerStates states) {
  waiting_ = std::move(states);
  for (auto& [key, saved] : waiting_) saved.moment = ++moments_;
}

Manager* Managers::find(std::string_view name) const noexcept {
  const auto at = managers_.find(name);
  return at == managers_.end() ? nullptr : at->second.manager;
}

void Managers::tell() {
  telling_.swap(gone_);
  for (const auto& [name, present] : managers_) present.manager->on_destroyed(telling_);
  telling_.clear();
}

void Managers::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const {
  for (const auto& [name, present] : managers_)
    present.manager->describe(e, [&, &called = name](const Held& held) { take(called, held); });
}

std::string Managers::give(std::string_view name, Manager& manager, const SavedManager& saved) {
  const Head head = head_of(hash64(name), saved);
  if (head.version > manager.state_version())
    return "it has version " + std::to_string(head.version) + ", and this build knows " +
           std::to_string(manager.state_version()) + " at most";
  std::expected<void, std::string> done;
  if (head.has_parts) {
    std::vector<ManagerPart> parts;
    parts.reserve(saved.parts.size());
    for (const auto& [number, bytes] : saved.parts) parts.push_back({number, bytes});
    done = manager.load_parts(head.version, parts);
  } else {
    done = manager.load(head.version, head.state);
  }
  if (done) return {};
  return done.error().empty() ? "it does not say why" : done.error();
}

void Managers::save_present(const std::string& name, const Present& present, ManagerRows& to) {
  const std::uint64_t key = hash64(name);
  const bool has_parts = present.manager->in_parts();
  ManagerRow fixed{present.manager->state_version(), static_cast<std::uint32_t>(name.size())};
  require(fixed.version < in_parts, "Manager: the version of its state is too large");
  if (has_parts) fixed.version |= in_parts;
  std::vector<std::byte> row(sizeof fixed + name.size());
  std::memcpy(row.data(), &fixed, sizeof fixed);
  std::memcpy(row.data() + sizeof fixed, name.data(), name.size());
  if (has_parts) {
    PartSink sink(key, present.moment, to);
    present.manager->save_parts(sink);
    const std::uint32_t parts = sink.parts();
    const auto bytes = std::as_bytes(std::span(&parts, 1));
    row.insert(row.end(), bytes.begin(), bytes.end());
  } else {
    present.manager->save(row);
  }
  to.head(key, row);
}

void Managers::save_waiting(std::uint64_t key, const SavedManager& saved, ManagerRows& to) {
  const std::uint64_t version = version_at(saved.moment, 0);
  for (const auto& [number, bytes] : saved.parts)
    if (!to.has(key, number, version)) to.part(key, number, version, bytes);
  to.head(key, saved.head);
}

void Managers::save(ManagerRows& to) const {
  std::map<std::uint64_t, const ByName::value_type*> all;  // null: it waits
  for (const auto& [key, saved] : waiting_) all[key] = nullptr;
  for (const auto& each : managers_) all[hash64(each.first)] = &each;
  for (const auto& [key, present] : all) {
    if (present)
      save_present(present->first, present->second, to);
    else
      save_waiting(key, waiting_.at(key), to);
  }
}

std::string Managers::load(std::uint64_t key, std::span<const std::byte> row) {
  Head head;
  if (!split(key, row, head)) return "the manager's row is cut off, or another one's";
  for (const auto& [other, there] : managers_)
    if (other != head.name && hash64(other) == key)
      return "the managers \"" + std::string(head.name) + "\" and \"" + other + "\" have one hash; rename one";
  SavedManager saved{.head = {row.begin(), row.end()}, .parts = {}, .moment = ++moments_};
  Manager* const manager = find(head.name);
  if (!manager || head.has_parts) {
    waiting_[key] = std::move(saved);
    return {};
  }
  const std::string wrong = give(head.name, *manager, saved);
  return wrong.empty() ? wrong : "manager \"" + std::string(head.name) + "\": " + wrong;
}

std::string Managers::load_part(std::uint64_t key, std::uint32_t number, std::span<const std::byte> bytes) {
  const auto at = waiting_.find(key);
  if (at == waiting_.end() || !head_of(key, at->second).has_parts || number == part_none)
    return "the part of a manager belongs to none";
  at->second.parts[number].assign(bytes.begin(), bytes.end());
  return {};
}

std::string Managers::all_loaded(std::uint64_t& key) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    key = at->first;
    const Head head = head_of(key, at->second);
    const std::size_t parts = at->second.parts.size();
    if (head.has_parts && head.parts != parts)
      return "manager \"" + std::string(head.name) + "\": " + std::to_string(parts) +
             " parts of its state are there, of " + std::to_string(head.parts);
    const auto present = managers_.find(head.name);
    if (present == managers_.end()) {
      ++at;
      continue;
    }
    if (const std::string wrong = give(present->first, *present->second.manager, at->second); !wrong.empty())
      return "manager \"" + present->first + "\": " + wrong;
    present->second.moment = ++moments_;
    at = waiting_.erase(at);
  }
  return {};
}

}  // namespace muster
