#include "server/session/session.h"

namespace muster {

Session::Session(SessionIdentity identity, const Rights& its_rights, std::size_t request_bytes_max,
                 std::shared_ptr<RequestBytes> all_requests)
    : secret(identity.secret),
      number(identity.number),
      user(identity.user),
      name(std::move(identity.name)),
      kind(std::move(identity.kind)),
      joined_ns(identity.joined_ns),
      rights(its_rights),
      resumable(identity.resumable),
      requests(request_bytes_max, std::move(all_requests)),
      connection_(std::make_shared<Connection>()),
      seat_(std::make_shared<Seat>()) {
  outgoing()->close();
}

std::shared_ptr<Connection> Session::connection() const {
  const MutexLock lock(mutex_);
  return connection_;
}

std::shared_ptr<Outgoing> Session::outgoing() const {
  std::shared_ptr<Connection> now = connection();
  Outgoing* const queue = &now->outgoing;
  return {std::move(now), queue};
}

std::shared_ptr<Seat> Session::seat() const {
  const MutexLock lock(mutex_);
  return seat_;
}

std::shared_ptr<Connection> Session::connect(std::shared_ptr<Connection> connection) {
  connection->session_ = weak_from_this();
  std::shared_ptr<Seat> seat;
  {
    const MutexLock lock(mutex_);
    connection_.swap(connection);
    connected_ = true;
    seat = seat_;
  }
  // A text that is currently being sent ends up either in the old queue, in which case it is
  // forgotten here, or in the new queue.
  seat->texts_sent.lose();
  return connection;
}

bool Session::disconnect(const Connection& connection) {
  const MutexLock lock(mutex_);
  if (connection_.get() != &connection || !connected_) return false;
  connected_ = false;
  return true;
}

void Session::sit(std::shared_ptr<Seat> seat) {
  const MutexLock lock(mutex_);
  seat_ = std::move(seat);
}

session::Fault epoch_over_fault() {
  return fault_of(session::FaultCode::refused, "epoch_over",
                  "a run began or ended before this request arrived, so it was not carried out");
}

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

session::Fault closing_fault(session::FaultCode code, const char* reason, std::string text) {
  session::Fault fault = fault_of(code, reason, std::move(text));
  fault.closes = true;
  return fault;
}

}  // namespace muster
