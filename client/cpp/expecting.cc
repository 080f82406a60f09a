// Sends edits that expect something of the world, and asks what edits would do.
#include "client/cpp/client_impl.h"

namespace muster {
namespace {

std::vector<std::uint8_t> carried(std::span<const std::byte> batch) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(batch.data());
  return {first, first + batch.size()};
}

}  // namespace

Result<Acknowledged> Client::push_batch_if(const std::vector<session::Expectation>& expected,
                                           std::span<const std::byte> batch) {
  if (std::string fault = impl_->layouts.fault_of_sent(batch, types()); !fault.empty())
    return std::unexpected(ClientError{ClientError::Kind::mistaken, std::move(fault), {}});
  BatchBuilder builder;
  session::append(builder, session::EditIf{.expected = expected, .batch = carried(batch)});
  return push_batch(builder.bytes());
}

Result<session::WouldChange> Client::dry_run(std::span<const std::byte> batch,
                                             const std::vector<session::Expectation>& expected) {
  if (std::string fault = impl_->layouts.fault_of_sent(batch, types()); !fault.empty())
    return std::unexpected(ClientError{ClientError::Kind::mistaken, std::move(fault), {}});
  return ask(session::DryRun{.expected = expected, .batch = carried(batch)});
}

}  // namespace muster
