#include "server/session/session.h"

namespace muster {
session::Fault not_recorded_fault(const std::string& error) {
  return fault_of(session::FaultCode::not_recorded, "not_recorded",
                  "edits are refused, because they could not be kept: " + error);
}

session::Fault fault_of(session::FaultCode code, const char* reason, std::string text) {
  session::Fault fault;
  fault.code = code;
  fault.reason = reason;
  fault.text = std::move(text);
  return fault;
}

}  // namespace muster
