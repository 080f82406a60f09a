// Defines the member functions of Client for questions whose answers are assembled from several
// frames.
#include <iterator>

#include "client/cpp/client_impl.h"

namespace muster {
namespace {

Result<session::Templates> in_one(Result<std::vector<session::Templates>> pages) {
  if (!pages) return std::unexpected(pages.error());
  session::Templates all;
  for (session::Templates& page : *pages) {
    all.sequence = page.sequence;
    std::ranges::move(page.names, std::back_inserter(all.names));
    all.nodes.insert(all.nodes.end(), page.nodes.begin(), page.nodes.end());
  }
  return all;
}

}  // namespace

Result<session::Templates> Client::templates() { return in_one(ask<session::ListTemplates>()); }

Result<session::Templates> Client::read_templates(std::string_view text, std::string_view file) {
  return in_one(ask(session::ReadTemplates{.text = std::string(text), .file = std::string(file)}));
}

Result<session::TraceText> Client::end_trace() {
  const auto pieces = ask<session::EndTrace>();
  if (!pieces) return std::unexpected(pieces.error());
  session::TraceText whole;
  for (const session::TraceText& piece : *pieces) {
    whole.slices = piece.slices;
    whole.left_out = piece.left_out;
    whole.bytes.insert(whole.bytes.end(), piece.bytes.begin(), piece.bytes.end());
  }
  return whole;
}

Result<ShownEntity> Client::show(Entity e) {
  BatchBuilder builder;
  session::append(builder, session::Show{.entity = e});
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
