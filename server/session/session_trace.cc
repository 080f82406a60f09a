#include "server/session/session_trace.h"

#include <string>

#include "registry/entity_registry.h"

namespace muster {

namespace {

/// Their text, 2 to 4 MB, fits what may wait for a client (OutgoingLimits::control_bytes_max), and takes a few ms to write.
constexpr std::size_t slices_max = 16'384;
constexpr std::size_t piece_bytes = 256u << 10;

}  // namespace

void SessionTrace::begin(Session& to, std::uint64_t request) {
  if (trace_ || registry_.observing())
    return to.outgoing->fault(
        fault_of(session::FaultCode::failed, "trace_running", "the world is recorded or observed already"), request);
  trace_ = std::make_unique<Trace>(slices_max);
  author_ = to.author;
  registry_.set_trace(trace_.get());
  registry_.observe(true);
  answer(to, request, session::TraceBegun{.sequence = registry_.sequence()});
}

void SessionTrace::end(Session& to, std::uint64_t request) {
  if (!trace_ || author_ != to.author)
    return to.outgoing->fault(fault_of(session::FaultCode::not_found, "no_trace", "this session has begun no trace"),
                              request);
  registry_.observe(false);
  session::TraceText text;
  text.slices = trace_->slices();
  text.left_out = trace_->left_out();
  trace_->write([&](std::string_view piece) {
    if (text.bytes.size() + piece.size() > piece_bytes) {
      answer(to, request, text, frame_more);
      text.bytes.clear();
    }
    text.bytes.insert(text.bytes.end(), piece.begin(), piece.end());
  });
  answer(to, request, text);
  stop();
}

void SessionTrace::leave(const Session& from) {
  if (trace_ && author_ == from.author) stop();
}

void SessionTrace::stop() {
  if (!trace_) return;
  registry_.observe(false);
  registry_.set_trace(nullptr);
  trace_.reset();
}

}  // namespace muster
