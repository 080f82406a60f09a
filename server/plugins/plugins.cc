// - A reload is not a message and leaves no trace in the state. The sequence number does not
//   advance, and the hash stays the same if the managers of the new build save the same bytes.
// - The new build is first tried in an empty registry that knows the world's types. The old
//   instance is destroyed before the new one is created, so that names and resources are free.
// - In a running registry, the layouts of types and the values of enums cannot change, because
//   sessions, watches, and other handlers use the registry's types. If the new build's layouts or
//   values differ, the world is reopened with that build.
// - Each handler belongs to a part of the program, whose number is the position of the plugin.
//   Unnamed handlers run in order of part, and then in order of subscription, so a reloaded plugin
//   keeps its old position.
// - Values of runtime components are destroyed by the library that created them and are created
//   again by its successor, because only the library knows their layout.
// - The library that runs is a copy of the file, so the next build may overwrite the file. The
//   library is unloaded after its last use.
// - Two digests detect a plugin whose headers differ from the server's. One is computed from the
//   text of the headers without comments (tools/header_digest.py), and the other from the sizes of
//   the classes in them.
#include "server/plugins/plugins.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ranges>

#include "registry/host.h"
#include "registry/state/saved_types.h"
#include "registry/state/state.h"

namespace muster {

/// The instances of one registry, in the order of the libraries. They are destroyed in reverse
/// order. The registry's Handlers destroy this object.
struct Plugins::Instances {
  const EntityRegistry* registry = nullptr;
  std::vector<Installed> all;
  Instances() = default;
  Instances(Instances&&) = default;
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;
  ~Instances() {
    while (!all.empty()) all.pop_back();
  }
};

struct Plugins::Exchange {
  std::size_t place = 0;
  Library before, after;
  std::optional<PluginLibrary::State> state;  // state of the running instance
};

namespace {

/// Thrown if the layouts of a new build differ from the world's and no other fault was found.
class OtherLayout final : public PluginError {
 public:
  using PluginError::PluginError;
};

/// The state of a registry, kept in memory so that another registry can read it.
class StateInMemory final : public StateSink, public StateSource {
 public:
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    rows_[key].assign(bytes.begin(), bytes.end());
  }
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (auto at = rows_.lower_bound({section, 0, 0}); at != rows_.end() && at->first.section == section; ++at)
      take(at->first, at->second);
  }

 private:
  std::map<StateKey, std::vector<std::byte>> rows_;
};

/// Parts are numbered from 1. Part 0 is the host itself.
std::uint32_t part_of(std::size_t place) { return static_cast<std::uint32_t>(place + 1); }

}  // namespace

Plugins::Plugins() = default;
Plugins::~Plugins() = default;

void Plugins::load(const std::string& path) {
  auto library = std::make_shared<PluginLibrary>(path);
  for (const Library& other : libraries_)
    if (std::string_view(other->name()) == library->name())
      throw PluginError(path + ": is called \"" + library->name() + "\", and so is " + other->path());
  libraries_.push_back(std::move(library));
}

Handlers Plugins::install(EntityRegistry& registry) {
  auto instances = std::make_shared<Instances>();
  instances->registry = &registry;
  for (std::size_t i = 0; i < libraries_.size(); ++i) {
    registry.host().begin_part(part_of(i));
    instances->all.push_back({libraries_[i], libraries_[i]->create(registry)});
  }
  registry.host().begin_part(part_of(libraries_.size()));
  std::erase_if(instances_, [](const auto& known) { return known.expired(); });
  instances_.push_back(instances);
  Handlers handlers;
  handlers.keep(std::shared_ptr<void>(std::move(instances)));
  return handlers;
}

void Plugins::begin(EntityRegistry& registry) {
  if (Instances* running = of(registry))
    for (const Installed& each : running->all) each.library->begin(each.instance, registry);
}

std::string Plugins::code(std::string host) const {
  for (const Library& library : libraries_) host += ", " + library->identity();
  return host;
}

std::vector<std::pair<std::string, std::string>> Plugins::list() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Library& library : libraries_) all.emplace_back(library->name(), library->build());
  return all;
}

Plugins::Instances* Plugins::of(const EntityRegistry& registry) noexcept {
  for (const auto& known : instances_)
    if (const auto instances = known.lock(); instances && instances->registry == &registry) return instances.get();
  return nullptr;
}

std::expected<std::vector<ReloadedPlugin>, std::string> Plugins::reload(EntityRegistry& registry,
                                                                        std::string_view which,
                                                                        std::vector<std::string>* opened_again) {
  Instances* running = of(registry);
  if (!running || libraries_.empty()) return std::unexpected("this server has no plugins");
  std::vector<Exchange> exchanges;
  std::string names;
  for (std::size_t i = 0; i < libraries_.size(); ++i) {
    if (which.empty() || which == libraries_[i]->name() || which == libraries_[i]->path())
      exchanges.push_back({.place = i, .before = running->all[i].library, .after = {}, .state = {}});
    names += (names.empty() ? "" : ", ") + std::string(libraries_[i]->name());
  }
  if (exchanges.empty())
    return std::unexpected("there is no plugin called \"" + std::string(which) + "\"; the server has " + names);

  std::vector<ReloadedPlugin> done;
  try {
    for (Exchange& each : exchanges) {
      each.after = std::make_shared<PluginLibrary>(each.before->path());
      if (std::string_view(each.after->name()) != each.before->name())
        throw PluginError(each.after->path() + ": is called \"" + each.after->name() + "\" now; \"" +
                          each.before->name() + "\" runs");
      if (each.after->has_unique_symbols())
        throw PluginError(
            each.after->path() +
            ": would use parts of the running build (GNU_UNIQUE symbols): compile it with -fno-gnu-unique");
      each.state = each.before->hand_over(running->all[each.place].instance);
      done.push_back({each.after->name(), each.after->build(), each.before->build(),
                      each.after->digest() != each.before->digest()});
    }
    try {
      rehearse(registry, exchanges);
    } catch (const OtherLayout&) {
      if (!opened_again) throw;
      *opened_again = rehearse_opening(registry, exchanges);
      return done;
    }
    exchange(registry, *running, exchanges);
  } catch (const std::exception& error) {
    return std::unexpected(error.what());
  }
  for (Exchange& each : exchanges) {
    libraries_[each.place] = each.after;
    // A replay of past inputs, or a handler that the instance failed to remove, may still use the
    // library.
    const bool used = std::ranges::any_of(registry.host().handlers().handlers(), [&](const auto& handler) {
      return each.before->owns(reinterpret_cast<const void*>(handler->rows));
    });
    if (used || each.before.use_count() > 1) retired_.push_back(std::move(each.before));
  }
  return done;
}

Plugins::Instances Plugins::make_all(EntityRegistry& empty, const std::vector<Exchange>& exchanges,
                                     bool with_state) const {
  Instances made;
  for (std::size_t i = 0; i < libraries_.size(); ++i) {
    const auto found = std::ranges::find(exchanges, i, &Exchange::place);
    const bool is_new = found != exchanges.end();
    const Library& library = is_new ? found->after : libraries_[i];
    empty.host().begin_part(part_of(i));
    try {
      made.all.push_back({library, library->create(empty)});
    } catch (const PluginError& error) {
      if (is_new) throw;
      throw PluginError(exchanges.front().after->path() + ": conflicts with another plugin: " + error.what());
    }
    if (with_state && is_new && found->state) library->take_over(made.all.back().instance, *found->state);
  }
  return made;
}

std::vector<std::string> Plugins::rehearse_opening(const EntityRegistry& registry,
                                                   const std::vector<Exchange>& exchanges) const {
  StateInMemory state;
  registry.save(state);
  EntityRegistry empty;
  const Instances made = make_all(empty, exchanges, false);  // destroyed before the registry
  auto loaded = empty.load(state);
  if (!loaded)
    throw PluginError(
        exchanges.front().after->path() +
        ": was compiled with layouts that differ from the world's and cannot be converted: " + loaded.error().text());
  if (loaded->converted.empty()) loaded->converted.push_back("unused types have different layouts");
  return std::move(loaded->converted);
}

void Plugins::rehearse(const EntityRegistry& registry, const std::vector<Exchange>& exchanges) const {
  EntityRegistry empty;
  const Instances made = make_all(empty, exchanges, true);  // destroyed before the registry
  for (const auto& type : empty.host().storage().components())
    if (type->ops)
      for (const Exchange& each : exchanges)
        if (each.before->owns(type->ops))
          throw PluginError(each.after->path() + ": the new build would use parts of the running one (" +
                            type->descriptor->name + "): link it with -Wl,-Bsymbolic");
  SavedTypes saved(empty.types());
  std::expected<void, SchemaError> known;
  for (const auto& schema : registry.types().schemas())
    if (known) known = saved.add(schema);
  const bool differs = (known && !saved.settle()) || saved.differs();
  // Add the plugins' compiled types first and the world's own types afterwards, so that every
  // difference is found.
  for (const auto& schema : registry.types().schemas())
    if (const auto added = empty.types().add_schema(schema); !added)
      throw OtherLayout(exchanges.front().after->path() +
                        ": was compiled with a layout that differs from the world's: " + added.error().text());
  if (differs)
    throw OtherLayout(exchanges.front().after->path() +
                      ": was compiled with type names or enum values that differ from the world's");
}

void Plugins::exchange(EntityRegistry& registry, Instances& running, std::vector<Exchange>& exchanges) {
  const auto end = [&](const Library Exchange::* whose) {
    for (const Exchange& each : std::views::reverse(exchanges)) {
      registry.host().remove_runtime_types([&](const RuntimeOps& ops) { return (each.*whose)->owns(&ops); });
      running.all[each.place].instance.reset();
    }
  };
  const auto make = [&](const Library Exchange::* whose) {
    for (const Exchange& each : exchanges) {
      const Library& library = each.*whose;
      registry.host().begin_part(part_of(each.place));
      running.all[each.place] = {library, library->create(registry)};
      if (each.state) library->take_over(running.all[each.place].instance, *each.state);
    }
  };
  struct PartAfterAll {
    EntityRegistry& registry;
    std::uint32_t part;
    ~PartAfterAll() { registry.host().begin_part(part); }
  } const part{registry, part_of(running.all.size())};

  end(&Exchange::before);
  const ManagerStates waiting = registry.host().waiting_managers();
  try {
    make(&Exchange::after);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    end(&Exchange::after);
    registry.host().set_waiting_managers(waiting);
    try {
      make(&Exchange::before);
    } catch (const std::exception& worse) {
      throw PluginError(why +
                        "; the old build could not be restored either, so its handlers are gone: " + worse.what());
    }
    throw PluginError(why);
  }
}

}  // namespace muster
