// Steps as bytes:
//
//   step      | format 4 | redo 1 | sequence 8 | user 8 | session 8 | gesture 8 | label |
//             | parts 4 | part ... | (inputs 4 | input ... | texts | what | names 4 | name ...
//             | strangers 4 | entity 8 ... | kept 4 | two entities ...)   in format 2
//   input     | sequence 8 | its bytes |
//   name      | entity 8 | path |
//   part      | kind 1 | component 4 | entity 8 | offset 4 | bytes 4 | fingerprint 8 |
//             | sequence 8 | before | after | has details 1 | (details) |
//   details   | two places | ancestors 4, 8 each | name | texts | snapshot | (held) |
//   held      | messages | types 4 | layout ... | names of managers |          if `has details` is 2
//   snapshot  | shapes 4 | shape ... | rows 4 | row ... | values | texts |
//
// A text is its length in 4 bytes and its bytes. All numbers are little-endian.
#include <algorithm>
#include <cstring>
#include <utility>

#include "registry/history/parts.h"

namespace muster::history {

namespace {

/// Format 2 has inputs and texts.
constexpr std::uint32_t format = 1, format_of_run = 2;

class Writer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) { put_bytes(bytes_of(text)); }
  void put_texts(std::span<const std::string> texts) {
    put(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) put_text(text);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads until the first error. After an error, all values are empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T take() {
    T value{};
    if (left_.size() < sizeof value) {
      fail("ends too early");
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  /// Returns a number of elements that occupy at least `least` bytes each.
  std::uint32_t take_count(std::size_t least) {
    const auto count = take<std::uint32_t>();
    if (count <= left_.size() / least) return count;
    fail("ends too early");
    return 0;
  }
  bool take_flag(const char* what) {
    const auto flag = take<std::uint8_t>();
    if (flag > 1) fail(what);
    return flag == 1;
  }
  std::span<const std::byte> take_bytes() {
    const std::uint32_t size = take_count(1);
    const std::span<const std::byte> bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }
  std::string take_text() { return std::string(view_of(take_bytes())); }
  std::vector<std::string> take_texts() {
    std::vector<std::string> texts(take_count(4));
    for (std::string& text : texts) text = take_text();
    return texts;
  }
  void fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    left_ = {};
  }
  bool failed() const noexcept { return !why_.empty(); }
  const std::string& why() const noexcept { return why_; }
  bool at_end() const noexcept { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
  std::string why_;
};

void put(Writer& to, const Snapshot& snapshot) {
  to.put(static_cast<std::uint32_t>(snapshot.shapes.size()));
  for (const Snapshot::Shape& shape : snapshot.shapes) {
    to.put(static_cast<std::uint32_t>(shape.components.size()));
    for (const Layout& layout : shape.components) to.put(layout);
  }
  to.put(static_cast<std::uint32_t>(snapshot.rows.size()));
  for (const Snapshot::Row& row : snapshot.rows) {
    to.put(row.entity);
    to.put(row.parent);
    to.put(row.shape);
    to.put(row.name);
  }
  to.put_bytes(snapshot.values);
  to.put_texts(snapshot.texts);
}

Snapshot take_snapshot(Reader& from) {
  Snapshot snapshot;
  snapshot.shapes.resize(from.take_count(4));
  for (Snapshot::Shape& shape : snapshot.shapes) {
    shape.components.resize(from.take_count(sizeof(Layout)));
    TypeId previous = 0;
    std::uint64_t bytes = 0;
    for (Layout& layout : shape.components) {
      layout = from.take<Layout>();
      if (layout.type <= previous) from.fail("has components that are not in order");
      previous = layout.type;
      bytes += layout.bytes;
    }
    if (bytes > 0xffffffffu) from.fail("has a row that is too large");
    shape.bytes = static_cast<std::uint32_t>(bytes);
  }
  snapshot.rows.resize(from.take_count(24));
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < snapshot.rows.size() && !from.failed(); ++i) {
    Snapshot::Row& row = snapshot.rows[i];
    row.entity = from.take<Entity>();
    row.parent = from.take<std::uint32_t>();
    row.shape = from.take<std::uint32_t>();
    row.name = from.take<Text>();
    if (row.entity.index == 0 || row.entity.generation == 0) from.fail("has a row without an entity");
    if (row.parent > i || (i > 0 && row.parent == i)) from.fail("has a row above its parent");
    if (row.shape >= snapshot.shapes.size()) from.fail("has a row with unknown components");
    if (from.failed()) break;
    row.at = at;
    at += snapshot.shapes[row.shape].bytes;
  }
  std::vector<Entity> entities;
  for (const Snapshot::Row& row : snapshot.rows) entities.push_back(row.entity);
  std::ranges::sort(entities);
  if (std::ranges::adjacent_find(entities) != entities.end()) from.fail("has two rows of one entity");
  const std::span<const std::byte> values = from.take_bytes();
  if (!from.failed() && values.size() != at) from.fail("has values of the wrong size");
  snapshot.values.assign(values.begin(), values.end());
  snapshot.texts = from.take_texts();
  return snapshot;
}

void put(Writer& to, const Part& part) {
  to.put(part.kind);
  to.put(part.component);
  to.put(part.entity);
  to.put(part.offset);
  to.put(part.bytes);
  to.put(part.fingerprint);
  to.put(part.sequence);
  to.put_text(part.before);
  to.put_text(part.after);
  const bool held = part.details && !(part.details->held.messages.empty() && part.details->held.lost.empty());
  to.put(static_cast<std::uint8_t>((part.details ? 1 : 0) + (held ? 1 : 0)));
  if (!part.details) return;
  to.put(part.details->before);
  to.put(part.details->after);
  to.put(static_cast<std::uint32_t>(part.details->ancestors.size()));
  for (const Entity e : part.details->ancestors) to.put(e);
  to.put_text(part.details->name);
  to.put_texts(part.details->texts);
  put(to, part.details->snapshot);
  if (!held) return;
  to.put_bytes(part.details->held.messages);
  to.put(static_cast<std::uint32_t>(part.details->held.types.size()));
  for (const Layout& layout : part.details->held.types) to.put(layout);
  to.put_texts(part.details->held.lost);
}

/// Checks what the code that applies parts relies on.
void judge(Reader& from, const Part& part) {
  const bool of_component =
      part.kind == PartKind::field || part.kind == PartKind::added || part.kind == PartKind::removed;
  if (of_component != (part.component != 0)) return from.fail("has a part with a wrong component");
  if ((part.kind == PartKind::defined) == static_cast<bool>(part.entity))
    return from.fail("has a part with a wrong entity");
  switch (part.kind) {
    case PartKind::field:
      if (part.before.size() != part.after.size() || part.before.empty())
        from.fail("has a property whose two values differ in size");
      break;
    case PartKind::removed:
      if (part.before.size() != part.bytes) from.fail("has a component of the wrong size");
      break;
    case PartKind::moved:
      if (!part.details) from.fail("has a move without a place");
      break;
    case PartKind::destroyed:
      if (!part.details || part.details->snapshot.rows.empty())
        from.fail("has a deletion without rows");
      else if (part.details->snapshot.rows.front().entity != part.entity)
        from.fail("has a deletion of another entity");
      break;
    case PartKind::defined:
      if (!part.details || part.details->name.empty()) from.fail("has a template without a name");
      break;
    default: break;
  }
}

Part take_part(Reader& from) {
  Part part;
  const auto kind = from.take<std::uint8_t>();
  if (kind >= part_kinds) {
    from.fail("has a part of an unknown kind");
    return part;
  }
  part.kind = static_cast<PartKind>(kind);
  part.component = from.take<TypeId>();
  part.entity = from.take<Entity>();
  part.offset = from.take<std::uint32_t>();
  part.bytes = from.take<std::uint32_t>();
  part.fingerprint = from.take<std::uint64_t>();
  part.sequence = from.take<std::uint64_t>();
  part.before = from.take_text();
  part.after = from.take_text();
  const auto details = from.take<std::uint8_t>();
  if (details > 2) from.fail("has a part with a wrong flag");
  if (details != 0) {
    part.details = std::make_unique<Details>();
    part.details->before = from.take<Place>();
    part.details->after = from.take<Place>();
    part.details->ancestors.resize(from.take_count(sizeof(Entity)));
    for (Entity& e : part.details->ancestors) e = from.take<Entity>();
    part.details->name = from.take_text();
    part.details->texts = from.take_texts();
    part.details->snapshot = take_snapshot(from);
    if (details == 2) {
      HeldData& held = part.details->held;
      const std::span<const std::byte> messages = from.take_bytes();
      held.messages.assign(messages.begin(), messages.end());
      held.types.resize(from.take_count(sizeof(Layout)));
      for (Layout& layout : held.types) layout = from.take<Layout>();
      held.lost = from.take_texts();
    }
  }
  if (!from.failed()) judge(from, part);
  return part;
}

}  // namespace

std::vector<std::byte> encode(const Step& step) {
  Writer to;
  to.put(step.inputs.empty() ? format : format_of_run);
  to.put(static_cast<std::uint8_t>(step.redo ? 1 : 0));
  to.put(step.sequence);
  to.put(step.user);
  to.put(step.session);
  to.put(step.gesture);
  to.put_text(step.label);
  to.put(static_cast<std::uint32_t>(step.parts.size()));
  for (const Part& part : step.parts) put(to, part);
  if (step.inputs.empty()) return to.take();
  to.put(static_cast<std::uint32_t>(step.inputs.size()));
  for (const SentInput& input : step.inputs) {
    to.put(input.sequence);
    to.put_bytes(input.bytes);
  }
  to.put_texts(step.texts);
  to.put_text(step.what);
  to.put(static_cast<std::uint32_t>(step.names.size()));
  for (const auto& [entity, path] : step.names) {
    to.put(entity);
    to.put_text(path);
  }
  to.put(static_cast<std::uint32_t>(step.strangers.size()));
  for (const Entity e : step.strangers) to.put(e);
  to.put(static_cast<std::uint32_t>(step.kept_as.size()));
  for (const auto& [in_run, in_level] : step.kept_as) {
    to.put(in_run);
    to.put(in_level);
  }
  return to.take();
}

std::expected<Step, std::string> decode(std::uint64_t number, std::span<const std::byte> bytes) {
  Reader from(bytes);
  Step step;
  step.number = number;
  step.saved = true;
  const auto its_format = from.take<std::uint32_t>();
  if (its_format != format && its_format != format_of_run) from.fail("has an unknown format");
  step.redo = from.take_flag("has a wrong stack");
  step.sequence = from.take<std::uint64_t>();
  step.user = from.take<std::uint64_t>();
  step.session = from.take<std::uint64_t>();
  step.gesture = from.take<std::uint64_t>();
  step.label = from.take_text();
  step.parts.resize(from.take_count(40));
  for (Part& part : step.parts) {
    if (from.failed()) break;
    part = take_part(from);
  }
  if (its_format == format_of_run) {
    step.inputs.resize(from.take_count(12));
    for (SentInput& input : step.inputs) {
      input.sequence = from.take<std::uint64_t>();
      const std::span<const std::byte> sent = from.take_bytes();
      input.bytes.assign(sent.begin(), sent.end());
    }
    step.texts = from.take_texts();
    step.what = from.take_text();
    step.names.resize(from.take_count(12));
    for (auto& [entity, path] : step.names) {
      entity = from.take<Entity>();
      path = from.take_text();
    }
    step.strangers.resize(from.take_count(sizeof(Entity)));
    for (Entity& e : step.strangers) e = from.take<Entity>();
    step.kept_as.resize(from.take_count(2 * sizeof(Entity)));
    for (auto& [in_run, in_level] : step.kept_as) {
      in_run = from.take<Entity>();
      in_level = from.take<Entity>();
    }
  }
  if (!from.failed() && step.parts.empty() && step.inputs.empty()) from.fail("has no parts");
  if (!from.failed() && step.sequence < number) from.fail("is older than its number");
  if (!from.failed() && !from.at_end()) from.fail("is followed by unknown bytes");
  if (from.failed()) return std::unexpected("step " + std::to_string(number) + " of the saved history " + from.why());
  return step;
}

}  // namespace muster::history
