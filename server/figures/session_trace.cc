#include "server/figures/session_trace.h"

#include <string>

#include "registry/profile.h"

namespace muster {

namespace {

/// With this number of slices, the text is 2 to 4 MB long and takes a few milliseconds to write.
constexpr std::size_t slices_max = 16'384;
constexpr std::size_t piece_bytes = 256u << 10;

}  // namespace

void SessionTrace::begin(Session& to, std::uint64_t request, bool causes) {
  const auto refuse = [&](std::string why) {
    to.outgoing()->fault(fault_of(session::FaultCode::failed, "trace_running", std::move(why)), request);
  };
  const bool is_admin = to.rights.role >= RemoteRight::admin;
  if (trace_ && is_admin && !is_admin_) stop();
  if (trace_ && session_ == to.number) return refuse("this session is already recording the world");
  if (trace_)
    return refuse("the world is already being recorded by session " + std::to_string(session_ & 0xffffffff) +
                  (name_.empty() ? "" : " (" + name_ + ")"));
  if (!observation_.begin())
    return refuse("the world is already being recorded or observed by the program that serves it");
  trace_ = std::make_unique<Trace>(slices_max);
  session_ = to.number;
  name_ = to.name;
  is_admin_ = is_admin;
  registry_.profile().set_trace(trace_.get());
  causes_ = causes;
  if (causes_) registry_.profile().record_causes(true);
  answer(to, request, session::TraceBegun{.sequence = registry_.sequence()});
}

std::expected<std::vector<session::TraceText>, session::Fault> SessionTrace::end(const Session& from) {
  if (!trace_ || session_ != from.number)
    return std::unexpected(fault_of(session::FaultCode::not_found, "no_trace", "this session has not begun a trace"));
  registry_.profile().set_trace(nullptr);
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
  if (trace_ && session_ == from.number) stop();
}

void SessionTrace::stop() {
  if (!trace_) return;
  registry_.profile().set_trace(nullptr);
  if (causes_) registry_.profile().record_causes(false);
  observation_.end();
  trace_.reset();
}

}  // namespace muster
