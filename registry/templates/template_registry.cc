// The parts of EntityRegistry that define, spawn, and apply templates.
#include <cstring>

#include "registry/registry_impl.h"
#include "registry/templates/template_tree.h"

namespace muster {

Receipt EntityRegistry::define_template(const TemplateTree& tree) {
  const auto compiled = tree.compile();
  if (!compiled) throw SetupError(compiled.error());
  check_outside();
  tree.add_types(known_types());
  const std::vector<std::byte> table = encode(*compiled);
  open<DefineTemplate>().append_table(TypeTraits<DefineTemplate>::id, Entity{}, table);
  return deliver_pushed();
}

Entity EntityRegistry::spawn_direct(std::string_view what, const SpawnOptions& options) {
  RegistryCore& core = core_;
  if (!core.is_quiet() || core.types.handlers().told().spawn) return {};
  if (options.count != 1 || options.before || !options.name.empty()) return {};
  Structure& structure = impl_->structure;
  const Spawn message{.what = text_of(what), .parent = options.parent, .clash = options.clash};
  TemplateTable::Entry* const entry = structure.find_template(message.what);
  if (!entry || !Structure::planned(*entry) || entry->what->has_messages()) return {};
  if (options.parent && !core.state.storage.alive(options.parent)) return {};
  TemplateTable::Entry::Sealed& sealed = entry->sealed;
  if (sealed.ids.empty()) [[unlikely]]
    entry->seal(message);
  std::memcpy(sealed.message, &message, sizeof message);
  const std::span<Entity> ids = sealed.ids;
  const auto size = static_cast<std::uint32_t>(ids.size());
  const Storage::Drawn before = core.state.storage.drawn();
  HostCall::take_ids(core, ids);
  HostEnvelope envelope(size);
  const HostCall call(core, envelope, [&] { return sealed.batch; }, [&] { core.state.storage.undraw(before); });
  structure.spawn_taken(call, *entry, message, ids);
  call.done(size);
  if (options.ids) options.ids->assign(ids.begin(), ids.end());
  return ids.front();
}

std::span<Entity> EntityRegistry::prepare_spawn(std::string_view what, const SpawnOptions& options, Spawn& message) {
  check_outside();
  message = {.what = text_of(what),
             .parent = options.parent,
             .before = options.before,
             .name = intern_name(options.name),
             .clash = options.clash};
  if (!message.name && !options.name.empty()) return {};  // the name was refused
  impl_->inputs.wait_over();                              // this may define templates
  const Template* known = impl_->structure.templates().template_of(message.what);
  if (!known) return {};
  impl_->spawn_ids.resize(std::size_t{known->size()} * options.count);
  return impl_->spawn_ids;
}

Receipt EntityRegistry::apply_template(Entity top, std::string_view what, std::vector<Entity>* ids_out) {
  check_outside();
  impl_->inputs.wait_over();
  Storage& storage = core_.state.storage;
  const Storage::Drawn before = storage.drawn();
  const Text name = text_of(what);
  std::vector<Entity>& ids = impl_->spawn_ids;
  ids.assign(1, top);
  if (const Template* known = impl_->structure.templates().template_of(name)) {
    std::vector<bool> there(known->size(), false);
    there[0] = true;
    for (std::uint32_t i = 1; i < known->size(); ++i) {
      const Template::Node& node = known->nodes()[i];
      const Entity found =
          there[node.parent] && node.name ? impl_->structure.find_child(ids[node.parent], node.name) : Entity{};
      there[i] = static_cast<bool>(found);
      core_.drawn += found ? 0 : 1;
      ids.push_back(found ? found : storage.reserve());
    }
  }
  open<MergeTemplate>().append_shared(std::span<const Entity>(ids), MergeTemplate{.what = name});
  if (ids_out) ids_out->assign(ids.begin(), ids.end());
  try {
    return impl_->inputs.push([](Arena&) {}, true);
  } catch (...) {
    impl_->inputs.undraw(before);
    throw;
  }
}

}  // namespace muster
