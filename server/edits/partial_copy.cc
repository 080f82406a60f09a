#include "server/edits/partial_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>

#include "messages/require.h"
#include "messages/row_set.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "registry/state/state_format.h"

namespace muster {
namespace {

/// The saved state of a registry that has the ids of another one, but no entities.
class IdsOnly final : public StateSource {
 public:
  IdsOnly(const EntityRegistry& world, const CascadeBounds& bounds) : world_(world), bounds_(bounds) {}

  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    const Storage::Ids& ids = world_.host().storage().ids();
    if (section == StateSection::registry) {
      RegistryRow row;
      row.sequence = world_.sequence();
      row.now_ns = world_.now_ns();
      row.indices = ids.indices();
      row.retired = ids.retired();
      row.cascade_messages_max = bounds_.messages_max;
      row.cascade_bytes_max = bounds_.bytes_max;
      row.carried_messages_max = bounds_.carried_messages_max;
      row.carried_bytes_max = bounds_.carried_bytes_max;
      take({section, 0, 0}, std::as_bytes(std::span(&row, 1)).first(row.bytes()));
    } else if (section == StateSection::directory) {
      constexpr std::size_t per_page = 1u << id_page_bits;
      for (std::size_t first = 0; first < ids.indices(); first += per_page)
        take({section, first >> id_page_bits, 0}, page(ids, first, std::min(per_page, ids.indices() - first)));
    } else if (section == StateSection::free_queue) {
      std::vector<std::uint32_t> queue(ids.free_queue().size());
      for (std::size_t i = 0; i < queue.size(); ++i) queue[i] = ids.free_queue()[i];
      take({section, 0, 0}, std::as_bytes(std::span(queue)));
    }
  }

 private:
  std::span<const std::byte> page(const Storage::Ids& ids, std::size_t first, std::size_t count) {
    page_.resize(8 + count * 5);
    const std::uint64_t here = count;
    std::memcpy(page_.data(), &here, sizeof here);
    for (std::size_t i = 0; i < count; ++i) {
      const DirectoryEntry& entry = ids.slot(static_cast<std::uint32_t>(first + i));
      std::memcpy(page_.data() + 8 + i * 4, &entry.generation, 4);
      const IdState state = entry.locator.has_row() ? IdState::granted : entry.locator.state();
      page_[8 + count * 4 + i] = static_cast<std::byte>(state);
    }
    return page_;
  }

  const EntityRegistry& world_;
  const CascadeBounds bounds_;
  std::vector<std::byte> page_;
};

}  // namespace

PartialCopy::PartialCopy(const EntityRegistry& world) : world_(world) {
  for (const auto& schema : world.types().schemas())
    require(copy_.types().add_schema(schema).has_value(), "PartialCopy: a type of the world is not valid");
  IdsOnly ids(world, copy_.host().bounds());
  const auto loaded = copy_.load(ids);
  require(loaded.has_value(), "PartialCopy: the ids of the world are not valid");
}

void PartialCopy::create(Entity e) {
  const Text name = text_of(world_.name(e));
  bring(name);
  builder_.clear();
  builder_.append(e, Create{.parent = world_.parent(e), .name = name});
  const Receipt receipt = copy_.host().push_batch(builder_.bytes());
  require(receipt.handled == 1, "PartialCopy: an entity of the world could not be copied");
  known_.insert(e);
  entities_.push_back(e);
}

void PartialCopy::bring(Entity e) {
  if (!world_.alive(e) || known_.contains(e)) return;
  std::vector<Entity> line;
  for (Entity at = e; at && !known_.contains(at); at = world_.parent(at)) line.push_back(at);
  for (; !line.empty(); line.pop_back()) create(line.back());
}

void PartialCopy::bring(Entity e, TypeId component) {
  bring(e);
  if (!world_.alive(e) || component == TypeTraits<Name>::id || component == TypeTraits<ChildOf>::id) return;
  const TypeDescriptor* const type = copy_.types().find(component);
  if (!type || type->role != TypeRole::component || !known_components_.emplace(e.bits(), component).second) return;
  components_.emplace_back(e, component);
  const std::byte* const value = world_.find(e, component);
  if (!value) return;
  const RowSet rows(*copy_.types().find(TypeTraits<Set>::id), std::array{type});
  builder_.clear();
  std::byte* const payload = builder_.append_rows(rows, e);
  std::memset(payload, 0, rows.shape().bytes);
  if (type->size > 0) std::memcpy(payload + rows.offset(component), value, type->size);
  const Receipt receipt = copy_.host().push_batch(builder_.bytes());
  require(receipt.handled == 1, "PartialCopy: a component of the world could not be copied");
}

void PartialCopy::bring_below(Entity top) {
  std::vector<Entity> left{top};
  while (!left.empty()) {
    const Entity at = left.back();
    left.pop_back();
    // Children that were copied before may be elsewhere now.
    if (world_.alive(at))
      for (Entity child = world_.first_child(at); child; child = world_.next_sibling(child)) bring(child);
    for (Entity child = copy_.first_child(at); child; child = copy_.next_sibling(child)) left.push_back(child);
  }
}

void PartialCopy::bring_child(Entity parent, Text name) {
  if (!name || (parent && !world_.alive(parent))) return;
  if (const std::string_view text = world_.text(name); !text.empty()) bring(world_.find_child(parent, text));
}

void PartialCopy::bring_suffixed(Entity parent, Text name, std::uint32_t uses) {
  bring_child(parent, name);
  const std::string base(copy_.text(name));
  if (base.empty()) return;
  for (std::uint32_t suffix = 2; uses > 0; ++suffix) {
    const std::string next = base + '~' + std::to_string(suffix);
    const bool known = parent ? world_.alive(parent) : true;
    if (known) bring(world_.find_child(parent, next));
    if (!copy_.find_child(parent, next)) --uses;
  }
}

void PartialCopy::bring(Text text) {
  if (const std::string_view bytes = world_.text(text); !bytes.empty()) copy_.intern(bytes);
}

void PartialCopy::bring_template(std::string_view name) {
  const auto batch = world_.host().template_batch(name);
  if (batch.empty() || !templates_.emplace(name).second) return;
  const Receipt receipt = copy_.host().push_batch(batch);
  require(receipt.refused == 0, "PartialCopy: a template of the world could not be copied");
}

}  // namespace muster
