#include "client/cpp/layouts.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "messages/session.h"

namespace muster {
namespace {

constexpr const char* here = "in this program";

/// Finds the first difference between a type of the world and this program's type of the same name,
/// including the types nested in them. Enums are compared by name, because a layout's fingerprint
/// does not include enum values.
class Comparison {
 public:
  using Compiled = std::unordered_map<TypeId, const TypeDescriptor*>;
  Comparison(const TypeTable& world, const Compiled& compiled) : world_(world), compiled_(compiled) {}

  std::optional<SchemaError> between(const TypeDescriptor& theirs, const TypeDescriptor& mine) {
    if (!looked_at_.insert(mine.id).second) return {};
    if (theirs.fingerprint == mine.fingerprint) return within(theirs, mine);
    if (theirs.is_table && mine.is_table) return tables(theirs, mine);
    SchemaError difference = layout_difference(theirs, mine, here);
    if (difference.field.empty() && theirs.size == mine.size)
      if (auto inner = within(theirs, mine)) return inner;
    return difference;
  }

 private:
  /// The two types have equal fields, so any difference must be in the types of the fields.
  std::optional<SchemaError> within(const TypeDescriptor& theirs, const TypeDescriptor& mine) {
    for (std::size_t i = 0; i < std::min(theirs.fields.size(), mine.fields.size()); ++i)
      if (auto other = field(theirs, theirs.fields[i], mine.fields[i])) return other;
    return {};
  }

  /// If a table has additional fields in the world, this program can still read and write the
  /// table, as is usual with FlatBuffers.
  std::optional<SchemaError> tables(const TypeDescriptor& theirs, const TypeDescriptor& mine) {
    const auto error = [&](const FieldDescriptor& of, std::string what) {
      return SchemaError{theirs.name, of.name, std::move(what) + " " + here};
    };
    for (const FieldDescriptor& own : mine.fields) {
      const auto same = std::ranges::find(theirs.fields, own.name, &FieldDescriptor::name);
      if (same == theirs.fields.end()) return error(own, "is new");
      if (same->slot != own.slot)
        return error(own, "is at " + std::to_string(same->slot) + ", but at " + std::to_string(own.slot));
      if (same->kind != own.kind || same->element != own.element || same->type != own.type)
        return error(own, "has a different type");
      if (auto other = field(theirs, *same, own)) return other;
    }
    for (const FieldDescriptor& needed : theirs.fields)
      if (needed.required && std::ranges::find(mine.fields, needed.name, &FieldDescriptor::name) == mine.fields.end())
        return error(needed, "is required but missing");
    return {};
  }

  std::optional<SchemaError> field(const TypeDescriptor& theirs, const FieldDescriptor& a, const FieldDescriptor& b) {
    if (auto other = enums(theirs, a, b)) return other;
    const TypeDescriptor* const inner = a.type ? world_.find(a.type) : nullptr;
    const auto own = compiled_.find(b.type);
    if (!inner || own == compiled_.end()) return {};
    return between(*inner, *own->second);
  }

  static std::optional<SchemaError> enums(const TypeDescriptor& theirs, const FieldDescriptor& a,
                                          const FieldDescriptor& b) {
    if (!a.enumeration || !b.enumeration) return {};
    for (const EnumValue& value : b.enumeration->values) {
      const auto same = std::ranges::find(a.enumeration->values, value.name, &EnumValue::name);
      if (same == a.enumeration->values.end()) {
        const auto renamed = std::ranges::find(a.enumeration->values, value.value, &EnumValue::value);
        if (renamed == a.enumeration->values.end()) continue;
        return SchemaError{theirs.name, a.name,
                           std::to_string(value.value) + " of " + a.enumeration->name + " is " + renamed->name +
                               ", but " + value.name + " " + here};
      }
      if (same->value != value.value)
        return SchemaError{theirs.name, a.name,
                           value.name + " of " + a.enumeration->name + " is " + std::to_string(same->value) + ", but " +
                               std::to_string(value.value) + " " + here};
    }
    return {};
  }

  const TypeTable& world_;
  const Compiled& compiled_;
  std::unordered_set<TypeId> looked_at_;
};

}  // namespace

Layouts::Layouts(CompiledSchemas compiled) {
  std::unordered_set<const std::span<const std::uint8_t>*> read;
  for (const std::span<const std::uint8_t>* const schema : compiled) {
    if (!schema || !read.insert(schema).second) continue;
    auto loaded = load_schema(std::as_bytes(*schema));
    if (!loaded) continue;
    for (const TypeDescriptor& type : schemas_.emplace_back(std::move(*loaded)).types)
      compiled_.try_emplace(type.id, &type);
  }
  unmet_ = compiled_;
}

void Layouts::compare(const TypeTable& world) {
  for (auto at = unmet_.begin(); at != unmet_.end();) {
    const TypeDescriptor& mine = *at->second;
    const TypeDescriptor* const theirs = world.find(mine.id);
    if (!theirs || theirs->name != mine.name) {
      ++at;
      continue;
    }
    if (const auto other = Comparison(world, compiled_).between(*theirs, mine))
      faults_.emplace(mine.id,
                      mine.name + " has a different layout in the world than in this program: " + other->text());
    at = unmet_.erase(at);
  }
}

const std::string* Layouts::fault(TypeId type) const noexcept {
  if (faults_.empty()) return nullptr;
  const auto found = faults_.find(type);
  return found == faults_.end() ? nullptr : &found->second;
}

const std::string* Layouts::fault(BatchView batch) const noexcept {
  if (faults_.empty()) return nullptr;
  if (const std::string* const found = fault(batch.type())) return found;
  for (const RowSetEntry& entry : batch.row_set())
    if (const std::string* const found = fault(entry.type)) return found;
  if (batch.kind() == BatchKind::timed) return fault(batch.inner());
  if (batch.type() == TypeTraits<session::Values>::id && batch.kind() == BatchKind::table) {
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      if (const std::string* const found = fault(session::ValuesView::from(item.table).component())) return found;
      at = item.next;
    }
  }
  return nullptr;
}

std::string Layouts::fault_of_sent(std::span<const std::byte> batch, const TypeTable& world) const {
  if (batch.size() < sizeof(BatchHeader)) return {};
  const BatchView view(batch);
  const auto about = [&](TypeId type) -> std::string {
    if (const std::string* const found = fault(type)) return *found;
    const auto own = compiled_.find(type);
    if (own == compiled_.end() || world.find(type)) return {};
    return "the world has no type " + own->second->name;
  };
  std::string found = about(view.type());
  if (!found.empty()) return found;
  const std::size_t head = std::size_t{view.header().header_units} * 16;
  if (head > batch.size()) return {};
  if (view.has_rows() && head >= sizeof(BatchHeader) + 8) {
    const std::span<const RowSetEntry> rows = view.row_set();
    const std::size_t room = (head - sizeof(BatchHeader) - 8) / sizeof(RowSetEntry);
    for (const RowSetEntry& entry : rows.first(std::min(rows.size(), room)))
      if (found = about(entry.type); !found.empty()) return found;
  }
  if (view.kind() == BatchKind::timed && head + 16 <= batch.size())
    return fault_of_sent(batch.subspan(head + 16), world);
  return {};
}

}  // namespace muster
