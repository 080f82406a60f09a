#include "registry/apply/managers.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "messages/require.h"
#include "registry/handlers/handler_table.h"
#include "schema/hash.h"

namespace muster {

namespace {

struct ManagerRow {
  std::uint32_t version = 0, name_bytes = 0;
};
constexpr std::uint32_t in_parts = 1u << 31;     // flag in the version field
constexpr std::uint32_t part_none = 0xffffffff;  // no part has this number

/// The head of a saved manager.
struct Head {
  std::uint32_t version = 0;
  bool has_parts = false;
  std::string_view name;
  std::span<const std::byte> state;
  std::uint32_t parts = 0;
};

/// Splits a row into its fields. Returns false if the row is truncated or its name does not match
/// the key.
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

/// Returns the head of a row that has already been checked.
Head head_of(std::uint64_t key, const SavedManager& saved) {
  Head head;
  require(split(key, saved.head, head), "Managers: an unchecked row");
  return head;
}

/// Combines the version of a part with the moment at which its manager or state arrived, because
/// versions start over whenever another manager or state with the same name arrives.
std::uint64_t version_at(std::uint64_t moment, std::uint64_t version) {
  require(version < std::uint64_t{1} << 40, "Manager: the version of a part is too large");
  return (moment << 40) | version;
}

/// Stores the rows it receives.
class SavedRows final : public ManagerRows {
 public:
  void head(std::uint64_t, std::span<const std::byte> bytes) override { saved.head.assign(bytes.begin(), bytes.end()); }
  bool has(std::uint64_t, std::uint32_t, std::uint64_t) override { return false; }
  void part(std::uint64_t, std::uint32_t number, std::uint64_t, std::span<const std::byte> bytes) override {
    saved.parts[number].assign(bytes.begin(), bytes.end());
  }
  SavedManager saved;
};

bool same(const SavedManager& a, const SavedManager& b) noexcept { return a.head == b.head && a.parts == b.parts; }

/// Passes the parts of a manager to a ManagerRows, and counts them.
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
    require(number >= next_ && number != part_none, "Manager: parts are not in ascending order");
    next_ = number + 1;
    ++parts_;
  }
  const std::uint64_t key_, moment_;
  ManagerRows& to_;
  std::uint32_t parts_ = 0, next_ = 0;  // the smallest number that the next part may have
};

}  // namespace

void Managers::add(std::string name, Manager& manager) {
  if (name.empty()) throw SetupError("a manager needs a name");
  if (managers_.contains(name)) throw SetupError("there is already a manager named \"" + name + "\"");
  const auto one_hash = [&](std::string_view other) {
    throw SetupError("managers \"" + name + "\" and \"" + std::string(other) + "\" have the same hash; rename one");
  };
  for (const auto& [other, there] : managers_)
    if (hash64(other) == hash64(name)) one_hash(other);
  Present present{.manager = &manager, .moment = ++moments_, .at_first = {}, .added = moments_};
  SavedRows first;
  save_present(name, present, first);
  present.at_first = std::move(first.saved);
  const auto waits = waiting_.find(hash64(name));
  if (waits != waiting_.end()) {
    const std::string_view saved_name = head_of(waits->first, waits->second).name;
    if (saved_name != name) one_hash(saved_name);
    if (const std::string wrong = give(name, manager, waits->second); !wrong.empty())
      throw SetupError("manager \"" + name + "\" rejected its saved state: " + wrong);
    waiting_.erase(waits);
    ++waiting_changes_;
  }
  managers_.emplace(std::move(name), std::move(present));
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
  ++waiting_changes_;
  if (managers_.empty()) storage_.log_destroyed(nullptr);
}

void Managers::set_waiting(ManagerStates states) {
  waiting_ = std::move(states);
  ++waiting_changes_;
  for (auto& [key, saved] : waiting_) saved.moment = ++moments_;
}

void Managers::tell() {
  telling_.swap(gone_);
  // A Step that is taken back restores what it destroyed.
  std::erase_if(telling_, [&](Entity e) { return storage_.alive(e); });
  for (const auto& [name, present] : managers_) present.manager->on_destroyed(telling_);
  telling_.clear();
}

void Managers::describe(Entity e, const std::function<void(std::string_view, const Held&)>& take) const {
  for (const auto& [name, present] : managers_)
    present.manager->describe(e, [&, &called = name](const Held& held) { take(called, held); });
}

void Managers::save_entity(Entity e, BatchWriter& to, const std::function<void(std::string_view)>& lost) const {
  for (const auto& [name, present] : managers_) {
    if (present.manager->save_entity(e, to)) continue;
    bool holds = false;
    present.manager->describe(e, [&](const Held&) { holds = true; });
    if (holds) lost(name);
  }
}

std::string Managers::give(std::string_view name, Manager& manager, const SavedManager& saved) {
  const Head head = head_of(hash64(name), saved);
  if (head.version > manager.state_version())
    return "it has version " + std::to_string(head.version) + ", but this build supports at most " +
           std::to_string(manager.state_version());
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
  return done.error().empty() ? "it gave no reason" : done.error();
}

void Managers::save_present(const std::string& name, const Present& present, ManagerRows& to) {
  const std::uint64_t key = hash64(name);
  const bool has_parts = present.manager->in_parts();
  ManagerRow fixed{present.manager->state_version(), static_cast<std::uint32_t>(name.size())};
  require(fixed.version < in_parts, "Manager: the state version is too large");
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
  std::map<std::uint64_t, const ByName::value_type*> all;  // null for the saved state of an absent
                                                           // manager
  for (const auto& [key, saved] : waiting_) all[key] = nullptr;
  for (const auto& each : managers_) all[hash64(each.first)] = &each;
  for (const auto& [key, present] : all) {
    if (present)
      save_present(present->first, present->second, to);
    else
      save_waiting(key, waiting_.at(key), to);
  }
}

std::string Managers::give_caught(std::string_view name, Manager& manager, const SavedManager& saved) {
  try {
    return give(name, manager, saved);
  } catch (const std::exception& error) {
    return std::string("it threw: ") + error.what();
  } catch (...) {
    return "it threw an unknown exception";
  }
}

std::string Managers::exchange(ManagerStates& incoming, std::uint64_t& key) {
  struct Change {
    const std::string& name;
    Present& present;
    SavedManager before;
    bool given;
  };
  std::vector<Change> changes;
  changes.reserve(managers_.size());
  const auto refuse = [&](std::string_view name, const std::string& wrong) {
    key = hash64(name);
    for (const Change& change : changes)
      if (change.given)
        if (const std::string worse = give_caught(change.name, *change.present.manager, change.before); !worse.empty())
          fatal("manager \"" + change.name + "\" rejected the state it had just saved: " + worse);
    return "manager \"" + std::string(name) + "\": " + wrong;
  };
  for (auto& [name, present] : managers_) {
    SavedRows rows;
    save_present(name, present, rows);
    const auto there = incoming.find(hash64(name));
    const bool has_row = there != incoming.end();
    if (has_row)
      if (const std::string_view saved = head_of(there->first, there->second).name; saved != name) {
        (void)refuse(name, {});
        return "managers \"" + std::string(saved) + "\" and \"" + name + "\" have the same hash; rename one";
      }
    const bool given = has_row || !same(rows.saved, present.at_first);
    changes.push_back({name, present, std::move(rows.saved), given});
    if (!given) continue;
    if (const std::string wrong = give_caught(name, *present.manager, has_row ? there->second : present.at_first);
        !wrong.empty())
      return refuse(name, wrong);
  }
  for (Change& change : changes) {
    incoming.erase(hash64(change.name));
    change.before.moment = ++moments_;
    waiting_[hash64(change.name)] = std::move(change.before);
    if (change.given) change.present.moment = ++moments_;
  }
  for (auto& [name, saved] : incoming)
    if (saved.moment == 0) saved.moment = ++moments_;
  return {};
}

std::size_t KeptManagers::bytes() const {
  std::size_t sum = 0;
  for (const Kept& kept : managers) sum += kept.moment->bytes();
  return sum;
}

std::string Managers::keep(KeptManagers& kept) {
  kept.waiting_changes = waiting_changes_;
  for (auto& [name, present] : managers_) {
    std::shared_ptr<const ManagerMoment> moment = present.manager->keep();
    if (!moment)
      return "manager \"" + name + "\" cannot keep its state in memory: it does not implement Manager::keep()";
    kept.managers.push_back({name, present.added, std::move(moment)});
  }
  return {};
}

std::string Managers::cannot_return(const KeptManagers& kept) const {
  const auto find = [&](std::uint64_t added) {
    return std::ranges::any_of(managers_, [&](const auto& known) { return known.second.added == added; });
  };
  for (const KeptManagers::Kept& manager : kept.managers)
    if (!find(manager.added)) return "manager \"" + manager.name + "\" has been removed since";
  for (const auto& [name, present] : managers_)
    if (std::ranges::find(kept.managers, present.added, &KeptManagers::Kept::added) == kept.managers.end())
      return "manager \"" + name + "\" has been added since";
  if (kept.waiting_changes != waiting_changes_) return "the saved states of absent managers have been replaced since";
  return {};
}

void Managers::return_to(const KeptManagers& kept) {
  for (const KeptManagers::Kept& manager : kept.managers) {
    Present& present = managers_.find(manager.name)->second;
    present.manager->return_to(*manager.moment);
    // The same versions may now stand for other bytes.
    present.moment = ++moments_;
  }
  gone_.clear();
}

std::string_view manager_name(std::span<const std::byte> head) {
  ManagerRow fixed;
  std::memcpy(&fixed, head.data(), sizeof fixed);
  return {reinterpret_cast<const char*>(head.data()) + sizeof fixed, fixed.name_bytes};
}

std::string keep_manager(ManagerStates& states, std::uint64_t key, std::span<const std::byte> row) {
  Head head;
  if (!split(key, row, head)) return "the manager's row is truncated or belongs to another manager";
  states[key] = {.head = {row.begin(), row.end()}, .parts = {}};
  return {};
}

std::string keep_manager_part(ManagerStates& states, std::uint64_t key, std::uint32_t number,
                              std::span<const std::byte> bytes) {
  const auto at = states.find(key);
  if (at == states.end() || !head_of(key, at->second).has_parts || number == part_none)
    return "the part belongs to no manager";
  at->second.parts[number].assign(bytes.begin(), bytes.end());
  return {};
}

std::string check_managers(const ManagerStates& states, std::uint64_t& key) {
  for (const auto& [of, saved] : states) {
    key = of;
    const Head head = head_of(key, saved);
    if (head.has_parts && head.parts != saved.parts.size())
      return "manager \"" + std::string(head.name) + "\": found " + std::to_string(saved.parts.size()) +
             " parts of its state, expected " + std::to_string(head.parts);
  }
  return {};
}

}  // namespace muster
