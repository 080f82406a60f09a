#include "server/session/session_trace.h"

#include <string>

namespace muster {

namespace {

/// Their text has 2 to 4 MB and takes a few ms to write.
constexpr std::size_t slices_max = 16'384;
constexpr std::size_t piece_bytes = 256u << 10;

}  // namespace

void SessionTrace::begin(Session& to, std::uint64_t request) {
  if (trace_ || !observation_.begin())
    return to.outgoing->fault(
        fault_of(session::FaultCode::failed, "trace_running", "the world is recorded or observed already"), request);
  trace_ = std::make_unique<Trace>(slices_max);
  author_ = to.author;
  registry_.set_trace(trace_.get());
  answer(to, request, session::TraceBegun{.sequence = registry_.sequence()});
}

std::expected<std::vector<session::TraceText>, session::Fault> SessionTrace::end(const Session& from) {
  if (!trace_ || author_ != from.author)
    return std::unexpected(fault_of(session::FaultCode::not_found, "no_trace", "this session has begun no trace"));
  registry_.set_trace(nullptr);
  std::vector<session::TraceText> pieces(1);
  trace_->write([&](std::string_view piece) {
    if (pieces.back().bytes.size() + piece.size() > piece_bytes) pieces.emplace_back();
    pieces.back().bytes.insert(pieces.back().bytes.end(), piece.begin(), piece.end());
  });
  for (session::TraceText& piece : pieces) {
    piece.slices = trace_->slices();
    piece.left_out = trace_->left_out();
  }
  stop();
  return pieces;
}

void SessionTrace::leave(const Session& from) {
  if (trace_ && author_ == from.author) stop();
}

void SessionTrace::stop() {
  if (!trace_) return;
  registry_.set_trace(nullptr);
  observation_.end();
  trace_.reset();
}

}  // namespace muster
