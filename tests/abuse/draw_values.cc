#include "tests/abuse/draw_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace muster::abuse {

namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
void put_whole(Random& random, const FieldDescriptor& field, std::byte* at) {
  if (field.enumeration) {
    std::uint64_t value = 0;
    const auto& values = field.enumeration->values;
    if (field.enumeration->bit_flags) {
      for (const EnumValue& each : values)
        if (random.percent(50)) value |= static_cast<std::uint64_t>(each.value);
    } else if (!values.empty()) {
      value = static_cast<std::uint64_t>(values[random.below(values.size())].value);
    }
    return put(at, static_cast<T>(value));
  }
  using Limits = std::numeric_limits<T>;
  T least = Limits::min(), most = Limits::max();
  if (field.has_range) {
    least = static_cast<T>(std::max(field.range_min, static_cast<double>(least)));
    most = static_cast<T>(std::min(field.range_max, static_cast<double>(1ull << 62)));
    if (field.range_max >= static_cast<double>(Limits::max())) most = Limits::max();
  }
  if (random.percent(10)) return put(at, random.percent(50) ? least : most);
  const auto span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  const std::uint64_t end = random.percent(80) ? std::min<std::uint64_t>(span, 100) : span;
  put(at, static_cast<T>(static_cast<std::uint64_t>(least) + (end == ~0ull ? random.next() : random.below(end + 1))));
}

template <class T>
void put_real(Random& random, const FieldDescriptor& field, std::byte* at) {
  double least = -1000, most = 1000;
  if (field.has_range) {
    least = field.range_min;
    most = field.range_max;
  } else if (random.percent(3)) {
    most = 1e30;
    least = -1e30;
  }
  if (random.percent(5)) return put(at, static_cast<T>(random.percent(50) ? least : most));
  put(at, static_cast<T>(least + (most - least) * static_cast<double>(random.below(1 << 20)) / (1 << 20)));
}

void put_field(Random& random, const Knowledge& known, const FieldDescriptor& field,
               const std::function<Entity()>& entity, std::byte* at) {
  switch (field.kind) {
    case FieldKind::boolean: return put(at, static_cast<std::uint8_t>(random.below(2)));
    case FieldKind::int8: return put_whole<std::int8_t>(random, field, at);
    case FieldKind::uint8: return put_whole<std::uint8_t>(random, field, at);
    case FieldKind::int16: return put_whole<std::int16_t>(random, field, at);
    case FieldKind::uint16: return put_whole<std::uint16_t>(random, field, at);
    case FieldKind::int32: return put_whole<std::int32_t>(random, field, at);
    case FieldKind::uint32: return put_whole<std::uint32_t>(random, field, at);
    case FieldKind::int64: return put_whole<std::int64_t>(random, field, at);
    case FieldKind::uint64: return put_whole<std::uint64_t>(random, field, at);
    case FieldKind::float32: return put_real<float>(random, field, at);
    case FieldKind::float64: return put_real<double>(random, field, at);
    case FieldKind::entity: return put(at, entity());
    case FieldKind::text:
      return put(at,
                 known.texts.empty() || random.percent(20) ? Text{} : known.texts[random.below(known.texts.size())]);
    case FieldKind::structure:
      if (const TypeDescriptor* inner = known.types->find(field.type)) draw_value(random, known, *inner, entity, at);
      return;
    default: return;
  }
}

}  // namespace

void draw_value(Random& random, const Knowledge& known, const TypeDescriptor& type,
                const std::function<Entity()>& entity, std::byte* at) {
  if (type.default_bytes.size() == type.size)
    std::memcpy(at, type.default_bytes.data(), type.size);
  else
    std::memset(at, 0, type.size);
  if (random.percent(20)) return;
  for (const FieldDescriptor& field : type.fields) {
    if (field.name == "reserved" || random.percent(20)) continue;
    for (std::uint32_t i = 0; i < field.count; ++i)
      put_field(random, known, field, entity, at + field.offset + std::size_t{i} * field.size);
  }
}

}  // namespace muster::abuse
