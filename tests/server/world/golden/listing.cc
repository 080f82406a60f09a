#include <algorithm>
#include <cstdio>
#include <cstring>

#include "messages/value_text.h"
#include "registry/apply/timers.h"
#include "registry/host.h"
#include "tests/server/world/golden/golden_worlds.h"

namespace muster::golden {
namespace {

struct Shown final : ValueReferences {
  explicit Shown(const EntityRegistry& of) : registry(of) {}
  ValueResult<Entity> find_entity(std::string_view) override { return {}; }
  ValueResult<Text> intern(std::string_view) override { return {}; }
  std::string text(Text text) override { return std::string(registry.text(text)); }
  const EntityRegistry& registry;
};

std::string components(const EntityRegistry& registry, Entity e) {
  Shown shown(registry);
  std::string text;
  std::vector<const TypeDescriptor*> types;
  for (const TypeId type : registry.host().components(e)) types.push_back(registry.types().find(type));
  std::ranges::sort(types, {}, &TypeDescriptor::name);
  for (const TypeDescriptor* type : types) {
    if (type->id == TypeTraits<Name>::id) continue;
    text += "  " + type->name;
    if (!type->tag) text += " " + value_line(registry.types(), *type, registry.find(e, type->id), shown);
    text += "\n";
  }
  return text;
}

/// Without the group, whose number is a question of time.
std::string without_group(const std::string& failure) { return failure.substr(failure.find("input")); }

}  // namespace

Listing list(const World& world) {
  const EntityRegistry& registry = world.registry();
  Listing made;
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(registry.hash()));
  made.state = "tick " + std::to_string(world.tick()) + ", sequence " + std::to_string(registry.sequence()) +
               ", hash " + hash + "\n";
  registry.each<>([&](Entity e) {
    made.state +=
        registry.path(e) + " " + id_text(e) + " in " + id_text(registry.parent(e)) + "\n" + components(registry, e);
  });
  for (std::size_t i = 0; i < registry.host().texts().size(); ++i)
    made.state += "text " + std::string(registry.host().texts()[i]) + "\n";
  for (const auto& [key, timer] : registry.host().timers().waiting()) {
    const BatchView inner = BatchView(std::span<const std::byte>(timer.batch)).inner();
    const TypeDescriptor* const type = registry.types().find(inner.type());
    made.state += "timer " + std::to_string(key.id) + " at " + std::to_string(key.due_ns) + ": " +
                  (type ? type->name : std::string("?")) + "\n";
  }
  for (const std::string_view name : registry.host().template_names())
    made.state += "template " + std::string(name) + "\n";
  for (const Text off : registry.host().handlers().disabled())
    made.state += "off " + std::string(registry.text(off)) + "\n";

  for (const std::string& change : world.load_report().converted) made.opened += "converted " + change + "\n";
  const RecoveryReport& journal = world.recovery_report();
  if (journal.groups > 0)
    made.opened += "journal: " + std::to_string(journal.edits) + " edits, left out " +
                   std::to_string(journal.left_out) + ", ticks lost " + std::to_string(journal.ticks_lost) + "\n";
  for (const std::string& failure : journal.listed) made.opened += "failed " + without_group(failure) + "\n";
  return made;
}

void Sums::save(std::vector<std::byte>& out) const {
  const auto bytes = std::as_bytes(std::span(&sum, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::expected<void, std::string> Sums::load(std::uint32_t version, std::span<const std::byte> bytes) {
  if (version != 3 || bytes.size() != sizeof sum) return std::unexpected("sums of another version");
  std::memcpy(&sum, bytes.data(), sizeof sum);
  loaded_version = version;
  return {};
}

}  // namespace muster::golden
