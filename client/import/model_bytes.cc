#include "client/import/model_bytes.h"

#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "messages/utf8.h"

namespace muster {
namespace {

enum class Content : std::uint8_t { refusal, model };

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }
  template <class T>
  void put_optional(const std::optional<T>& value) {
    put(static_cast<std::uint8_t>(value.has_value()));
    if (value) put(*value);
  }
  std::vector<std::byte> bytes;
};

/// Returns true if all floats in the value are finite. The value must begin with `Floats` floats.
template <std::size_t Floats, class T>
bool finite(const T& value) {
  static_assert(sizeof(T) >= Floats * sizeof(float));
  std::array<float, Floats> numbers;
  std::memcpy(numbers.data(), &value, sizeof numbers);
  for (const float number : numbers)
    if (!std::isfinite(number)) return false;
  return true;
}
bool sound(const scene::Transform& value) { return finite<10>(value); }
bool sound(const scene::Color& value) { return finite<4>(value); }
bool sound(const scene::Camera& value) { return finite<5>(value); }
bool sound(const scene::Shape& value) { return finite<6>(value) && value.kind <= scene::ShapeKind::cone; }
bool sound(const scene::Light& value) { return finite<8>(value) && value.kind <= scene::LightKind::area; }

/// Reads data written by Writer. `good` becomes false at the first byte that Writer could not have
/// written.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (left_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint32_t>();
    if (size > left_.size()) return fail(), std::string();
    std::string text(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    if (utf8_prefix(text) != text.size() || text.find('\0') != std::string::npos) fail();
    return text;
  }
  bool take_flag() {
    const auto flag = take<std::uint8_t>();
    if (flag > 1) fail();
    return flag == 1;
  }
  template <class T>
  std::optional<T> take_optional() {
    if (!take_flag()) return {};
    const T value = take<T>();
    if (!sound(value)) fail();
    return value;
  }
  std::size_t left() const { return left_.size(); }
  void fail() {
    good = false;
    left_ = {};
  }
  bool good = true;

 private:
  std::span<const std::byte> left_;
};

void take_entity(Taker& from, ImportedModel& model) {
  ImportedEntity entity;
  entity.parent = from.take<std::uint32_t>();
  if (model.entities.empty() ? entity.parent != ImportedEntity::no_parent : entity.parent >= model.entities.size())
    return from.fail();
  if (!model.entities.empty()) entity.depth = model.entities[entity.parent].depth + 1;
  entity.is_part = from.take_flag();
  entity.is_named = from.take_flag();
  entity.name = from.take_text();
  entity.transform = from.take<scene::Transform>();
  if (!sound(entity.transform)) from.fail();
  if (from.take_flag()) {
    ImportedMesh mesh;
    mesh.name = from.take_text();
    mesh.index = from.take<std::uint32_t>();
    mesh.bounds = from.take_optional<scene::Shape>();
    mesh.color = from.take_optional<scene::Color>();
    entity.mesh = std::move(mesh);
  }
  entity.light = from.take_optional<scene::Light>();
  entity.camera = from.take_optional<scene::Camera>();
  model.entities.push_back(std::move(entity));
}

}  // namespace

std::vector<std::byte> model_bytes(const ImportedModel& model) {
  Writer out;
  out.put(Content::model);
  out.put(static_cast<std::uint32_t>(model.entities.size()));
  for (const ImportedEntity& entity : model.entities) {
    out.put(entity.parent);
    out.put(static_cast<std::uint8_t>(entity.is_part));
    out.put(static_cast<std::uint8_t>(entity.is_named));
    out.put_text(entity.name);
    out.put(entity.transform);
    out.put(static_cast<std::uint8_t>(entity.mesh.has_value()));
    if (entity.mesh) {
      out.put_text(entity.mesh->name);
      out.put(entity.mesh->index);
      out.put_optional(entity.mesh->bounds);
      out.put_optional(entity.mesh->color);
    }
    out.put_optional(entity.light);
    out.put_optional(entity.camera);
  }
  out.put(static_cast<std::uint32_t>(model.warnings.size()));
  for (const std::string& warning : model.warnings) out.put_text(valid_utf8(warning));
  return std::move(out.bytes);
}

std::vector<std::byte> refusal_bytes(std::string_view reason) {
  Writer out;
  out.put(Content::refusal);
  out.put_text(valid_utf8(reason));
  return std::move(out.bytes);
}

std::expected<ImportedModel, std::string> model_from(std::span<const std::byte> bytes) {
  const auto broken = [] { return std::unexpected(std::string("the reader ended in the middle of this file")); };
  Taker from(bytes);
  const auto content = from.take<Content>();
  if (content == Content::refusal) {
    std::string reason = from.take_text();
    if (!from.good || from.left() != 0) return broken();
    return std::unexpected(std::move(reason));
  }
  if (content != Content::model) return broken();
  ImportedModel model;
  const auto entities = from.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < entities && from.good; ++i) take_entity(from, model);
  const auto warnings = from.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < warnings && from.good; ++i) model.warnings.push_back(from.take_text());
  if (!from.good || from.left() != 0 || model.entities.empty()) return broken();
  return model;
}

}  // namespace muster
