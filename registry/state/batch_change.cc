#include "registry/state/batch_change.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/causes.h"
#include "messages/step_batches.h"
#include "registry/state/field_change.h"
#include "registry/state/template_change.h"
#include "schema/muster.h"

namespace muster {
namespace {

using Converted = std::expected<void, SchemaError>;

/// True if the values of this message name types or fields, or contain messages.
bool names_types(TypeId message) noexcept {
  return message == TypeTraits<SetField>::id || message == TypeTraits<SetFieldIf>::id ||
         message == TypeTraits<Remove>::id || message == TypeTraits<ComponentChanged>::id ||
         message == TypeTraits<DefineTemplate>::id || message == TypeTraits<Step>::id;
}

/// True if anything in the batch may have changed. Accepts arbitrary bytes, because other code
/// rejects invalid batches.
std::expected<bool, SchemaError> concerned(std::span<const std::byte> batch, SavedTypes& types) {
  BatchHeader header;
  if (batch.size() < sizeof header) return false;
  std::memcpy(&header, batch.data(), sizeof header);
  if (header.kind == BatchKind::timed) {
    const std::size_t inner = std::size_t{header.header_units} * 16 + 16;
    return batch.size() <= inner ? false : concerned(batch.subspan(inner), types);
  }
  bool any = names_types(header.type);
  const auto look = [&](TypeId type) -> Converted {
    if (!types.is_saved(type)) return {};
    const auto found = types.reading(type);
    if (!found) return std::unexpected(found.error());
    any = any || found->change != nullptr || found->now->id != type;
    return {};
  };
  if (auto good = look(header.type); !good) return std::unexpected(std::move(good.error()));
  constexpr std::size_t rows = sizeof header + 8;
  if ((header.flags & batch_rows) == 0 || batch.size() < rows) return any;
  std::uint32_t count;
  std::memcpy(&count, batch.data() + sizeof header, sizeof count);
  const std::size_t room = (batch.size() - rows) / sizeof(RowSetEntry);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, room); ++i) {
    RowSetEntry entry;
    std::memcpy(&entry, batch.data() + rows + i * sizeof entry, sizeof entry);
    if (auto good = look(entry.type); !good) return std::unexpected(std::move(good.error()));
  }
  return any;
}

class BatchChange {
 public:
  explicit BatchChange(SavedTypes& types) : types_(types) {}

  Converted take(const BatchView& batch) {
    if (batch.kind() == BatchKind::timed) {
      BatchChange inner(types_);
      if (auto done = inner.take(batch.inner()); !done) return done;
      made_.append_timed(batch.header().argument, batch.timer(), inner.made_.front());
      return {};
    }
    const auto message = types_.reading(batch.type());
    if (!message) return std::unexpected(message.error());
    auto done = batch.kind() == BatchKind::table ? tables(batch, *message) : structs(batch, *message);
    if (done && made_.batches() != 1) return std::unexpected(SchemaError{message->now->name, {}, "is now too large"});
    return done;
  }
  std::vector<std::byte> bytes() {
    const auto all = made_.bytes();
    return {all.begin(), all.end()};
  }

 private:
  /// A component of the row set, together with the place of its value in the payload.
  struct Part {
    SavedTypes::Reading reading;
    std::uint32_t then_at, now_at;
  };

  Converted tables(const BatchView& batch, const SavedTypes::Reading& message) {
    made_.set_causes(batch.has_causes());
    const std::byte* at = batch.body();
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      const TableItem item = table_item(batch, at);
      if (batch.has_causes()) made_.set_cause(table_cause(at));
      at = item.next;
      std::span<const std::byte> table = item.table;
      std::vector<std::byte> now;
      if (message.now->id == TypeTraits<DefineTemplate>::id) {
        auto converted = convert_template(DefineTemplateView::from(table), types_);
        if (!converted) {
          converted.error().what += " (in a template)";
          return std::unexpected(std::move(converted.error()));
        }
        if (*converted) {
          encode(**converted, now);
          table = now;
        }
      }
      if (message.now->id == TypeTraits<Step>::id) {
        if (auto done = step(StepView::from(item.table), now); !done) return done;
        table = now;
      }
      made_.append_table(message.now->id, item.target, table, batch.header().argument);
    }
    return {};
  }

  Converted step(StepView then, std::vector<std::byte>& now) {
    Step made = then.decode();
    made.batches.clear();
    Converted done;
    StepBatches(then).for_each([&](const BatchView& batch) {
      if (!done) return;
      BatchChange inner(types_);
      done = inner.take(batch);
      if (!done) return;
      const std::vector<std::uint8_t> bytes = step_bytes(inner.made_.bytes());
      made.batches.insert(made.batches.end(), bytes.begin(), bytes.end());
    });
    if (done) encode(made, now);
    return done;
  }

  Converted structs(const BatchView& batch, const SavedTypes::Reading& message) {
    std::vector<Part> parts;
    std::vector<const TypeDescriptor*> components;
    for (const RowSetEntry& entry : batch.row_set()) {
      const auto component = types_.reading(entry.type);
      if (!component) return std::unexpected(component.error());
      if (std::ranges::find(components, component->now) != components.end())
        return std::unexpected(SchemaError{component->now->name, {}, "is now the type of two components of a message"});
      parts.push_back({*component, entry.offset, 0});
      components.push_back(component->now);
    }
    const RowSet rows = batch.has_rows() ? RowSet(*message.now, components) : RowSet();
    for (Part& part : parts) part.now_at = rows.offset(part.reading.now->id);
    const auto put = [&](std::byte* payload, std::uint32_t i) -> Converted {
      const std::byte* const then = batch.payload(i);
      value(message, then, payload);
      for (const Part& part : parts) value(part.reading, then + part.then_at, payload + part.now_at);
      return convert_names(message.now->id, {payload, message.now->size}, types_);
    };
    made_.set_causes(batch.has_causes());
    const PayloadShape shape = PayloadShape::of(*message.now);
    if (batch.kind() == BatchKind::shared) {
      if (batch.has_causes()) made_.set_cause(cause_of(batch, 0));
      const std::span targets(reinterpret_cast<const Entity*>(batch.shared_targets()), batch.count());
      return put(batch.has_rows() ? made_.append_rows_shared(rows, targets) : made_.append_shared(shape, targets), 0);
    }
    for (std::uint32_t i = 0; i < batch.count(); ++i) {
      if (batch.has_causes()) made_.set_cause(cause_of(batch, i));
      std::byte* const payload = batch.has_rows()                   ? made_.append_rows(rows, batch.target(i))
                                 : batch.kind() == BatchKind::world ? made_.append_world(shape)
                                 : batch.kind() == BatchKind::subtree
                                     ? made_.append_subtree(shape, batch.target(i), batch.header().argument)
                                     : made_.append(shape, batch.target(i));
      if (auto done = put(payload, i); !done) return done;
    }
    return {};
  }

  static void value(const SavedTypes::Reading& reading, const std::byte* then, std::byte* now) {
    if (reading.change)
      reading.change->apply({then, reading.then->size}, {now, reading.now->size});
    else
      std::memcpy(now, then, reading.now->size);
  }

  SavedTypes& types_;
  BatchBuilder made_{batch_bytes_max};
};

}  // namespace

std::expected<std::optional<std::vector<std::byte>>, SchemaError> convert_batch(std::span<const std::byte> batch,
                                                                                SavedTypes& types, Mended& mended) {
  using Made = std::optional<std::vector<std::byte>>;
  if (!types.differs()) return Made();
  const auto is_concerned = concerned(batch, types);
  if (!is_concerned) return std::unexpected(is_concerned.error());
  if (!*is_concerned) return Made();
  std::vector<std::byte> copy(batch.begin(), batch.end());
  const auto good = mend_batch(copy, types.then(), own_limits, mended);
  if (!good) return std::unexpected(SchemaError{{}, {}, good.error().text});
  BatchChange change(types);
  if (auto done = change.take(*good); !done) return std::unexpected(std::move(done.error()));
  return Made(change.bytes());
}

}  // namespace muster
