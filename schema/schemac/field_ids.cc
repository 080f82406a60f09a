#include "schema/schemac/field_ids.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schema/hash.h"

namespace muster::schemac {
namespace {

class Paths {
 public:
  explicit Paths(const Schema& schema) {
    for (const TypeDescriptor& type : schema.types) types_.emplace(type.id, &type);
  }

  std::optional<std::string> same_id(const TypeDescriptor& type) {
    hashes_.clear();
    add(type, hash32(""));
    std::ranges::sort(hashes_);
    const auto twin = std::ranges::adjacent_find(hashes_);
    if (twin == hashes_.end()) return std::nullopt;
    wanted_ = *twin;
    found_.clear();
    find(type, "");
    return type.name + "." + found_[1] + ": has the same field id as " + found_[0] +
           " (their names have one hash); rename one of them";
  }

 private:
  const TypeDescriptor* inner(const FieldDescriptor& field) const {
    return field.kind == FieldKind::structure ? types_.at(field.type) : nullptr;
  }
  static std::uint32_t more(std::uint32_t hash, std::string_view text) noexcept { return hash32(text, hash); }
  static std::string element(std::uint32_t i) { return "[" + std::to_string(i) + "]"; }
  /// Collects the hashes of all parts. `prefix` is the hash of the path up to this struct.
  void add(const TypeDescriptor& type, std::uint32_t prefix) {
    for (const FieldDescriptor& field : type.fields) {
      const std::uint32_t path = more(prefix, field.name);
      hashes_.push_back(path);
      const TypeDescriptor* const nested = inner(field);
      if (!field.is_array) {
        if (nested) add(*nested, more(path, "."));
        continue;
      }
      for (std::uint32_t i = 0; i < field.count; ++i) {
        const std::uint32_t indexed = more(path, element(i));
        hashes_.push_back(indexed);
        if (nested) add(*nested, more(indexed, "."));
      }
    }
  }
  /// Collects the paths of the parts that have the wanted hash.
  void find(const TypeDescriptor& type, const std::string& prefix) {
    const auto note = [&](const std::string& path) {
      if (hash32(path) == wanted_) found_.push_back(path);
    };
    for (const FieldDescriptor& field : type.fields) {
      const std::string path = prefix + field.name;
      note(path);
      const TypeDescriptor* const nested = inner(field);
      if (!field.is_array) {
        if (nested) find(*nested, path + ".");
        continue;
      }
      for (std::uint32_t i = 0; i < field.count; ++i) {
        note(path + element(i));
        if (nested) find(*nested, path + element(i) + ".");
      }
    }
  }

  std::unordered_map<TypeId, const TypeDescriptor*> types_;
  std::vector<std::uint32_t> hashes_;
  std::uint32_t wanted_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::optional<std::string> same_field_id(const Schema& schema) {
  Paths paths(schema);
  for (const TypeDescriptor& type : schema.types)
    if (!type.is_table)
      if (auto found = paths.same_id(type)) return found;
  return std::nullopt;
}

}  // namespace muster::schemac
