#include "server/session/judge.h"

#include <cstddef>
#include <cstring>
#include <optional>

#include "schema/kinds.h"
#include "schema/muster.h"

namespace muster {
namespace {

/// Calls f(component) for every component that a structure message writes or takes away.
template <class F>
void for_each_written(BatchView message, F&& f) {
  if (message.has_rows()) {
    for (const RowSetEntry& entry : message.row_set()) f(entry.type);
    return;
  }
  // All three begin with the component's type id.
  if (message.type() != TypeTraits<SetField>::id && message.type() != TypeTraits<SetFieldIf>::id &&
      message.type() != TypeTraits<Remove>::id)
    return;
  const std::uint32_t payloads = message.kind() == BatchKind::shared ? 1 : message.count();
  for (std::uint32_t i = 0; i < payloads; ++i) {
    TypeId component;
    std::memcpy(&component, message.payload(i), sizeof component);
    f(component);
  }
}
static_assert(offsetof(SetField, component) == 0 && offsetof(SetFieldIf, set) == 0 && offsetof(Remove, component) == 0);

/// The role is too small for a type, or nobody has the right; null where it suffices.
std::optional<session::Fault> right_fault(const TypeDescriptor& type, session::Role role) {
  if (type.remote != RemoteRight::none && static_cast<std::uint8_t>(role) >= static_cast<std::uint8_t>(type.remote))
    return std::nullopt;
  session::Fault fault;
  fault.type = type.id;
  fault.code = session::FaultCode::no_right;
  fault.reason = "no_right";
  fault.text = type.remote == RemoteRight::none
                   ? type.name + " is not written from outside"
                   : type.name + " needs the right to " + std::string(right_name(type.remote)) +
                         "; this session has the right to " + std::string(right_name(static_cast<RemoteRight>(role)));
  return fault;
}

}  // namespace

bool is_session_type(const TypeDescriptor& type) noexcept { return type.name.starts_with("muster.session."); }

session::Fault fault_for(const FrameFault& fault) {
  session::Fault made;
  made.code = session::FaultCode::bad_frame;
  made.closes = true;
  made.reason = name(fault.code);
  made.text = fault.text + " (at byte " + std::to_string(fault.stream_offset) + " of the stream)";
  return made;
}

std::expected<Judged, session::Fault> judge(std::span<const std::byte> bytes, const TypeTable& types,
                                            session::Role role, const VerifierLimits& limits) {
  auto verified = verify_batch(bytes, types, limits);
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

  session::Fault fault;
  fault.type = judged.type->id;
  if (judged.type->remote == RemoteRight::none) {
    fault.code = session::FaultCode::wrong_direction;
    fault.reason = "wrong_direction";
    fault.closes = true;
    fault.text = judged.type->name + (judged.for_world ? " may not be sent from outside" : " is sent by servers only");
    return std::unexpected(std::move(fault));
  }
  if (judged.batch.kind() == BatchKind::timed && judged.batch.timer() != 0) {
    // Numbers chosen outside would meet those that the world gives, now or later.
    fault.code = session::FaultCode::refused;
    fault.reason = "timer_chosen";
    fault.refused = 1;
    fault.text = "a timed message from outside has timer 0, the world numbers it; this one has " +
                 std::to_string(judged.batch.timer());
    return std::unexpected(std::move(fault));
  }
  std::optional<session::Fault> lacking = right_fault(*judged.type, role);
  if (lacking) return std::unexpected(*std::move(lacking));
  for_each_written(message, [&](TypeId component) {
    // An unknown component is the world's to refuse, with the entity named.
    if (const TypeDescriptor* written = types.find(component); written && !lacking)
      lacking = right_fault(*written, role);
  });
  if (lacking) return std::unexpected(*std::move(lacking));
  if (!judged.for_world && (judged.batch.kind() == BatchKind::timed || judged.batch.count() != 1)) {
    fault.code = session::FaultCode::bad_batch;
    fault.reason = "wrong_count";
    fault.closes = true;
    fault.text = judged.type->name + " is for the server: one message in a batch, and no timer";
    return std::unexpected(std::move(fault));
  }
  return judged;
}

}  // namespace muster
