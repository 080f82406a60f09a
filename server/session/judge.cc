#include "server/session/judge.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "messages/step_batches.h"
#include "registry/handlers/builtin_messages.h"
#include "schema/kinds.h"
#include "schema/muster.h"

namespace muster {

bool is_session_type(const TypeDescriptor& type) noexcept { return type.name.starts_with("muster.session."); }

namespace {

/// Calls f(offset) for each field of a structure message that contains a component's type id,
/// including fields of nested structs.
template <class F>
void for_each_naming_field(const TypeDescriptor& type, const TypeTable& types, std::uint32_t offset, F& f) {
  for (const FieldDescriptor& field : type.fields) {
    if (field.kind == FieldKind::structure) {
      if (const TypeDescriptor* inner = types.find(field.type))
        for_each_naming_field(*inner, types, offset + field.offset, f);
    } else if (field.kind == FieldKind::uint32 && field.name == "component") {
      f(offset + field.offset);
    }
  }
}

/// Calls f(type) for each component that a message writes or removes and, if the message contains a
/// template, for each component and message in the template.
template <class F>
void for_each_written(BatchView message, const TypeDescriptor& type, const TypeTable& types, F&& f) {
  for (const RowSetEntry& entry : message.row_set()) f(entry.type);
  // Only the game can interpret the content of its own messages.
  if (!type.name.starts_with("muster.")) return;
  if (message.kind() == BatchKind::table) {
    if (message.type() != TypeTraits<DefineTemplate>::id) return;
    const std::byte* at = message.body();
    for (std::uint32_t i = 0; i < message.count(); ++i) {
      const TableItem item = table_item(message, at);
      at = item.next;
      for (const TemplateNodeView node : DefineTemplateView::from(item.table).nodes()) {
        for (const TemplateValueView value : node.components()) f(value.type());
        for (const TemplateValueView value : node.messages()) f(value.type());
      }
    }
    return;
  }
  const std::uint32_t payloads = message.kind() == BatchKind::shared ? 1 : message.count();
  const auto in_payloads = [&](std::uint32_t offset) {
    for (std::uint32_t i = 0; i < payloads; ++i) {
      TypeId component;
      std::memcpy(&component, message.payload(i) + offset, sizeof component);
      f(component);
    }
  };
  for_each_naming_field(type, types, 0, in_payloads);
}

/// If the session does not have the right for a type, returns a fault. Otherwise, returns nothing.
std::optional<session::Fault> right_fault(const TypeDescriptor& type, const Rights& rights) {
  if (rights.may_send(type)) return std::nullopt;
  session::Fault fault;
  fault.type = type.id;
  fault.code = session::FaultCode::no_right;
  fault.reason = "no_right";
  const bool is_rule = rights.has_rules() && rights.rules->decides(type) == false;
  if (is_rule) fault.reason = "rule";
  fault.text = type.remote == RemoteRight::none ? type.name + " is not written from outside"
               : is_rule                        ? "a rule of this server denies this user to write " + type.name
                         : type.name + " needs the right to " + std::string(right_name(type.remote)) +
                               "; this session has the right to " + std::string(right_name(rights.role));
  return fault;
}

session::Fault direction_fault(const TypeDescriptor& type) {
  session::Fault fault;
  fault.type = type.id;
  fault.code = session::FaultCode::wrong_direction;
  fault.reason = "wrong_direction";
  fault.closes = true;
  fault.text = type.name + (is_session_type(type) ? " is sent only by servers" : " may not be sent from outside");
  return fault;
}

/// Returns the fault for a well-formed batch that contains a forbidden value. The session stays
/// open, because a person may have typed the value.
session::Fault value_fault(std::span<const std::byte> bytes, const BatchFault& found, const TypeTable& types,
                           const Rights& rights) {
  BatchView batch(bytes);
  if (batch.kind() == BatchKind::timed) batch = batch.inner();
  const TypeDescriptor& type = *types.find(batch.type());
  if (type.remote == RemoteRight::none) return direction_fault(type);
  if (auto lacking = right_fault(type, rights)) return *std::move(lacking);
  session::Fault fault;
  fault.code = is_session_type(type) ? session::FaultCode::bad_question : session::FaultCode::refused;
  fault.reason = name(found.fault);
  fault.text = found.text;
  fault.type = found.type;
  fault.field = found.field;
  fault.offset = found.offset;
  if (!is_session_type(type)) fault.refused = batch.count();
  return fault;
}

}  // namespace

void for_each_written_type(BatchView message, const TypeDescriptor& type, const TypeTable& types,
                           const std::function<void(const TypeDescriptor&)>& f) {
  for_each_written(message, type, types, [&](TypeId id) {
    if (const TypeDescriptor* const written = types.find(id)) f(*written);
  });
}

std::optional<session::Fault> template_right_fault(const DefineTemplate& definition, const TypeTable& types,
                                                   const Rights& rights) {
  std::optional<session::Fault> lacking;
  const auto look = [&](const std::vector<TemplateValue>& values) {
    for (const TemplateValue& value : values)
      if (const TypeDescriptor* type = types.find(value.type); type && !lacking) lacking = right_fault(*type, rights);
  };
  for (const TemplateNode& node : definition.nodes) {
    look(node.components);
    look(node.messages);
  }
  return lacking;
}

session::Fault fault_for(const FrameFault& fault) {
  session::Fault made;
  made.code = session::FaultCode::bad_frame;
  made.closes = true;
  made.reason = name(fault.code);
  made.text = fault.text + " (at byte " + std::to_string(fault.stream_offset) + " of the stream)";
  return made;
}

namespace {

/// Limit on the length of a Step's label. Every page of a history contains labels.
constexpr std::size_t step_label_bytes_max = 1024;

/// Returns a fault that refuses a Step for a reason that only Steps have.
session::Fault step_fault(const char* reason, std::string text) {
  session::Fault fault;
  fault.type = TypeTraits<Step>::id;
  fault.code = session::FaultCode::refused;
  fault.reason = reason;
  fault.refused = 1;
  fault.text = std::move(text);
  return fault;
}

std::expected<Judged, session::Fault> judge_verified(std::span<const std::byte> bytes,
                                                     std::expected<BatchView, BatchFault> verified,
                                                     const TypeTable& types, const Rights& rights);

/// Judges the batches in a Step as if each had been sent separately.
std::optional<session::Fault> fault_in_step(BatchView batch, bool timed, const TypeTable& types, const Rights& rights) {
  if (timed) return step_fault("step_timed", "a Step cannot be timed");
  const TableItem item = table_item(batch, batch.body());
  if (batch.count() != 1 || item.target || batch.header().argument != 0)
    return step_fault("wrong_targets", "a Step is sent to the world, alone in its batch");
  const StepView step = StepView::from(item.table);
  if (step.act() != StepAct::edit)
    return step_fault("step_act", "only a server makes a Step whose act is undo or redo");
  if (step.label().size() > step_label_bytes_max)
    return step_fault("label_bytes_max", "the label of a Step has " + std::to_string(step.label().size()) +
                                             " bytes; at most " + std::to_string(step_label_bytes_max) +
                                             " are allowed");
  std::optional<session::Fault> found;
  std::uint32_t number = 0;
  StepBatches(step).for_each([&](const BatchView& inside) {
    if (found) return;
    auto judged = judge_verified(inside.bytes(), inside, types, rights);
    if (!judged)
      found = std::move(judged.error());
    else if (!judged->for_world || !fits_step(inside.type()))
      found =
          step_fault("not_in_step",
                     judged->type->name + " cannot be part of a Step: a Step contains edits and messages of the game");
    if (found) found->text.insert(0, "batch " + std::to_string(number) + " of the Step: ");
    ++number;
  });
  return found;
}

std::expected<Judged, session::Fault> judge_verified(std::span<const std::byte> bytes,
                                                     std::expected<BatchView, BatchFault> verified,
                                                     const TypeTable& types, const Rights& rights) {
  if (!verified && is_about_a_value(verified.error().fault))
    return std::unexpected(value_fault(bytes, verified.error(), types, rights));
  if (!verified) {
    const BatchFault& found = verified.error();
    session::Fault fault;
    fault.code = session::FaultCode::bad_batch;
    fault.closes = true;
    fault.reason = name(found.fault);
    fault.text = found.text;
    fault.type = found.type;
    fault.field = found.field;
    fault.offset = found.offset;
    return std::unexpected(std::move(fault));
  }
  Judged judged;
  judged.batch = *verified;
  const BatchView message = judged.batch.kind() == BatchKind::timed ? judged.batch.inner() : judged.batch;
  judged.type = types.find(message.type());
  judged.for_world = !is_session_type(*judged.type);

  if (judged.type->remote == RemoteRight::none) return std::unexpected(direction_fault(*judged.type));
  if (judged.batch.kind() == BatchKind::timed && judged.batch.timer() != 0) {
    session::Fault fault;
    fault.type = judged.type->id;
    // Numbers chosen by clients could collide with numbers that the world assigns.
    fault.code = session::FaultCode::refused;
    fault.reason = "timer_chosen";
    fault.refused = 1;
    fault.text = "a timed message from outside must have timer 0, because the world numbers it; this one has " +
                 std::to_string(judged.batch.timer());
    return std::unexpected(std::move(fault));
  }
  std::optional<session::Fault> lacking = right_fault(*judged.type, rights);
  if (lacking) return std::unexpected(*std::move(lacking));
  for_each_written(message, *judged.type, types, [&](TypeId component) {
    // Unknown types are refused later by the world, whose error names the entity.
    if (const TypeDescriptor* written = types.find(component); written && !lacking)
      lacking = right_fault(*written, rights);
  });
  if (lacking) return std::unexpected(*std::move(lacking));
  if (judged.type->id == TypeTraits<Step>::id)
    if (auto fault = fault_in_step(message, judged.batch.kind() == BatchKind::timed, types, rights))
      return std::unexpected(*std::move(fault));
  if (!judged.for_world && (judged.batch.kind() == BatchKind::timed || judged.batch.count() != 1)) {
    session::Fault fault;
    fault.type = judged.type->id;
    fault.code = session::FaultCode::bad_batch;
    fault.reason = "wrong_count";
    fault.closes = true;
    fault.text = judged.type->name + " is for the server: it must be alone in its batch, and not timed";
    return std::unexpected(std::move(fault));
  }
  return judged;
}

/// Returns true if an edit of this type calls no handler of the game.
bool is_tried(TypeId type) noexcept {
  return type == TypeTraits<InternText>::id || type == TypeTraits<DefineTemplate>::id || is_structural(type);
}
bool is_tried(const BatchView& edit) {
  if (edit.type() != TypeTraits<Step>::id) return is_tried(edit.type());
  bool all = true;
  StepBatches(table_item(edit, edit.body()).table).for_each([&](const BatchView& each) {
    all = all && is_tried(each.type());
  });
  return all;
}

/// Judges the batch in an EditIf or a DryRun as if it had been sent by itself.
std::optional<session::Fault> fault_in_carried(const Judged& carrier, const TypeTable& types, const Rights& rights,
                                               const VerifierLimits& limits) {
  const bool dry = carrier.type->id == TypeTraits<session::DryRun>::id;
  // operator new aligns a vector's bytes to 16 bytes, as batches must be.
  const std::vector<std::uint8_t> carried =
      dry ? session::read<session::DryRun>(carrier.batch).batch : session::read<session::EditIf>(carrier.batch).batch;
  const auto bytes = std::as_bytes(std::span(carried));
  std::optional<session::Fault> found;
  auto judged = judge_verified(bytes, verify_batch(bytes, types, limits), types, rights);
  const auto refuse = [&](const char* reason, std::string text) {
    found.emplace();
    found->code = session::FaultCode::refused;
    found->type = judged->type->id;
    found->reason = reason;
    found->refused = judged->batch.count();
    found->text = std::move(text);
  };
  if (!judged)
    found = std::move(judged.error());
  else if (judged->batch.kind() == BatchKind::timed)
    refuse("timed", judged->type->name + " is timed, so nothing can be expected of the world that it will change");
  else if (!judged->for_world)
    refuse("not_an_edit", judged->type->name + " is not an edit of the world");
  else if (dry && !is_tried(judged->batch))
    refuse("not_an_edit", "a dry run calls no handlers, so it cannot tell the effect of " + judged->type->name);
  if (found) found->text.insert(0, "the batch of the " + std::string(dry ? "DryRun: " : "EditIf: "));
  return found;
}

/// Judges the edit that another message carries, if any.
std::expected<Judged, session::Fault> with_carried(std::expected<Judged, session::Fault> judged, const TypeTable& types,
                                                   const Rights& rights, const VerifierLimits& limits) {
  const auto carries = [](TypeId type) {
    return type == TypeTraits<session::EditIf>::id || type == TypeTraits<session::DryRun>::id;
  };
  if (!judged || !carries(judged->type->id)) return judged;
  if (auto fault = fault_in_carried(*judged, types, rights, limits)) return std::unexpected(*std::move(fault));
  judged->for_world = judged->type->id == TypeTraits<session::EditIf>::id;
  return judged;
}

}  // namespace

std::expected<Judged, session::Fault> judge(std::span<const std::byte> bytes, const TypeTable& types,
                                            const Rights& rights, const VerifierLimits& limits) {
  return with_carried(judge_verified(bytes, verify_batch(bytes, types, limits), types, rights), types, rights, limits);
}

std::expected<Judged, session::Fault> SessionJudge::judge(std::span<const std::byte> bytes, const TypeTable& types,
                                                          const Rights& rights, const VerifierLimits& limits) {
  auto verified = verifier_.verify(bytes, types, limits);
  if (verified && verifier_.repeats() && type_) [[likely]]
    return Judged{*verified, true, type_};
  type_ = nullptr;
  auto judged = with_carried(judge_verified(bytes, std::move(verified), types, rights), types, rights, limits);
  // For Muster's own messages, the required right may depend on the content.
  if (judged && judged->for_world && !judged->type->name.starts_with("muster.")) type_ = judged->type;
  return judged;
}

}  // namespace muster
