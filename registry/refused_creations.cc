// Composes the sentences that explain why an entity was not created.
#include <string>

#include "messages/require.h"
#include "registry/registry_impl.h"
#include "schema/quoted.h"

namespace muster {

namespace {

/// The entity that was supposed to be created. `name` may be empty.
struct Wanted {
  Entity parent, before;
  std::string_view name, what;
};

detail::Made refuse(const EntityRegistry& registry, Refusal why, const Wanted& wanted) {
  std::string text;
  switch (why.code) {
    case RefusalCode::name_taken:
      why.entity = registry.find_child(wanted.parent, wanted.name);
      text = why.entity ? "the name " + quoted(wanted.name, '"') + " is taken by " + id_and_path(registry, why.entity)
                        : "several trees cannot share the name " + quoted(wanted.name, '"');
      break;
    case RefusalCode::text_collision:
      text = "the name " + quoted(wanted.name, '"') + " cannot be used: ";
      text += text_of(wanted.name)
                  ? "it has the hash of another text, " + quoted(registry.text(text_of(wanted.name)), '"')
                  : "its hash is 0, which means no text";
      break;
    case RefusalCode::dead_entity:
      why.entity = wanted.parent;
      text = "the parent " + id_and_path(registry, why.entity) + " is not alive";
      break;
    case RefusalCode::before_is_no_child:
      why.entity = wanted.before;
      text = "the sibling " + id_and_path(registry, why.entity) + " is not a child of the parent";
      break;
    case RefusalCode::unknown_template: text = "no template is named " + quoted(wanted.what, '"'); break;
    case RefusalCode::wrong_targets: text = "the number of trees is 0"; break;
    case RefusalCode::kept_by_registry: {
      const TypeDescriptor* const type = registry.types().find(why.type);
      text = std::string(type ? type->name : "a component") + " is kept by the registry and cannot be given";
      break;
    }
    default: text = std::string("the registry refused: ") + name(why.code);
  }
  return {.id = {}, .refused = new detail::RefusedCreation{why, std::move(text)}};
}

}  // namespace

detail::Made EntityRegistry::refuse_create(Entity parent, std::string_view name, const Receipt* receipt) const {
  const Refusal why = receipt ? receipt->refusal : Refusal{RefusalCode::text_collision};
  return refuse(*this, why, {.parent = parent, .before = {}, .name = name, .what = {}});
}

detail::Made EntityRegistry::refuse_spawn(std::string_view what, const SpawnOptions& options,
                                          const Receipt* receipt) const {
  Refusal why;
  if (receipt)
    why = receipt->refusal;
  else if (impl_->texts.collides(options.name))
    why.code = RefusalCode::text_collision;
  else
    why.code = impl_->structure.templates().template_of(text_of(what)) ? RefusalCode::wrong_targets
                                                                       : RefusalCode::unknown_template;
  return refuse(*this, why, {.parent = options.parent, .before = options.before, .name = options.name, .what = what});
}

void Created::stop() const noexcept {
  fatal("an entity was not created, and its id was used: " + std::string(text()) +
        "; test the result of create, create_under or spawn if it may be refused");
}

}  // namespace muster
