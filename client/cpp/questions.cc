// What a Client asks of its server, each answered at once.
#include <iterator>

#include "client/cpp/client_impl.h"

namespace muster {

Result<session::Children> Client::children(Entity of, std::uint32_t offset, std::uint32_t limit) {
  session::ListChildren question;
  question.entity = of;
  question.offset = offset;
  question.limit = limit;
  return read_answer<session::Children>(ask(question));
}

Result<session::Found> Client::resolve(std::string_view path, std::uint32_t limit) {
  session::Resolve question;
  question.path = path;
  question.limit = limit;
  return read_answer<session::Found>(ask(question));
}

Result<session::Found> Client::find(const session::Find& what) { return read_answer<session::Found>(ask(what)); }

namespace {

/// All frames of the answer in one.
Result<session::Templates> read_templates_answer(Result<std::vector<Received>> frames) {
  if (!frames) return std::unexpected(frames.error());
  session::Templates all;
  for (const Received& frame : *frames) {
    auto page = read_answer<session::Templates>(frame);
    if (!page) return page;
    all.sequence = page->sequence;
    all.names.insert(all.names.end(), std::make_move_iterator(page->names.begin()),
                     std::make_move_iterator(page->names.end()));
    all.nodes.insert(all.nodes.end(), page->nodes.begin(), page->nodes.end());
  }
  return all;
}

}  // namespace

Result<session::Templates> Client::templates() { return read_templates_answer(ask_all(session::ListTemplates{})); }

Result<DefineTemplate> Client::template_called(std::string_view name) {
  return read_answer<DefineTemplate>(ask(session::GetTemplate{.name = std::string(name)}));
}

Result<session::Templates> Client::read_templates(std::string_view text, std::string_view file) {
  return read_templates_answer(ask_all(session::ReadTemplates{.text = std::string(text), .file = std::string(file)}));
}

Result<session::PendingTimers> Client::timers(const session::PendingTimers& after, std::uint32_t limit) {
  session::ListTimers question;
  if (!after.timers.empty()) {
    question.after_due_ns = after.due_ns.back();
    question.after_timer = after.timers.back();
  }
  question.limit = limit;
  return read_answer<session::PendingTimers>(ask(question));
}

Result<session::HandlerList> Client::handlers(const session::HandlerList& after, std::uint32_t limit) {
  session::ListHandlers question;
  if (!after.handlers.empty()) question.after = after.handlers.back();
  question.limit = limit;
  return read_answer<session::HandlerList>(ask(question));
}

Result<session::ClockState> Client::clock() { return read_answer<session::ClockState>(ask(session::GetClock{})); }

Result<session::ClockState> Client::set_clock(const session::SetClock& what) {
  return read_answer<session::ClockState>(ask(what));
}

Result<session::Info> Client::info(bool with_hash) {
  session::GetInfo question;
  question.hash = with_hash ? 1 : 0;
  return read_answer<session::Info>(ask(question));
}

Result<session::Load> Client::load() { return read_answer<session::Load>(ask(session::GetLoad{})); }

Result<session::Sessions> Client::sessions(const session::Sessions& after, std::uint32_t limit) {
  session::ListSessions question;
  if (!after.authors.empty()) question.after = after.authors.back();
  question.limit = limit;
  return read_answer<session::Sessions>(ask(question));
}

Result<session::Ended> Client::ended(std::uint32_t limit) {
  return read_answer<session::Ended>(ask(session::ListEnded{.limit = limit}));
}

Result<session::Activity> Client::activity(std::uint32_t limit) {
  return read_answer<session::Activity>(ask(session::GetActivity{.limit = limit}));
}

Result<session::Reloaded> Client::reload(std::string_view plugin) {
  return read_answer<session::Reloaded>(ask(session::Reload{.plugin = std::string(plugin)}));
}

Result<void> Client::begin_trace() {
  auto begun = read_answer<session::TraceBegun>(ask(session::BeginTrace{}));
  if (!begun) return std::unexpected(begun.error());
  return {};
}

Result<session::TraceText> Client::end_trace() {
  BatchBuilder builder;
  session::append(builder, session::EndTrace{});
  const auto request = send(builder.bytes());
  if (!request) return std::unexpected(request.error());
  auto frames = wait(*request);
  if (!frames) return std::unexpected(frames.error());
  session::TraceText whole;
  for (Received& received : *frames) {
    auto piece = read_answer<session::TraceText>(std::move(received));
    if (!piece) return std::unexpected(piece.error());
    whole.slices = piece->slices;
    whole.left_out = piece->left_out;
    whole.bytes.insert(whole.bytes.end(), piece->bytes.begin(), piece->bytes.end());
  }
  return whole;
}

Result<std::uint64_t> Client::save() {
  auto saved = read_answer<session::Saved>(ask(session::Save{}));
  if (!saved) return std::unexpected(saved.error());
  return saved->sequence;
}

Result<ShownEntity> Client::show(Entity e) {
  session::Show question;
  question.entity = e;
  BatchBuilder builder;
  session::append(builder, question);
  const auto request = send(builder.bytes());
  if (!request) return std::unexpected(request.error());
  const auto frames = wait_any(*request);
  if (!frames) return std::unexpected(frames.error());
  ShownEntity shown;
  for (const Received& received : *frames) {
    if (received.is<session::Shown>()) {
      shown.about = session::read<session::Shown>(received.batch());
    } else if (received.is<Set>()) {
      const BatchView batch = received.batch();
      for (const RowSetEntry& entry : batch.row_set()) {
        const TypeDescriptor* type = impl_->types.find(entry.type);
        const std::byte* value = batch.payload(0) + entry.offset;
        const std::string* const fault = impl_->layouts.fault(entry.type);
        shown.components.push_back({type, {value, value + type->size}, fault ? *fault : std::string()});
      }
    }
  }
  return shown;
}

}  // namespace muster
